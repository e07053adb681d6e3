"""The macros of the guide's pages: tables, numbers, calculators, each answered by `calc`; nothing is computed here."""

from typing import Any

from mkdocs.exceptions import BuildError

from calc import CatalogError, catalog
from calc.scenario import check_models
from macros import inline, pages, plots
from macros.accuracy.page import (
    accuracy,
    accuracy_figure,
    accuracy_figures,
    accuracy_left_out,
    accuracy_reasons,
    accuracy_summary,
    accuracy_table,
    accuracy_worst,
    left_out_sources,
)
from macros.cache_tables import cache_table
from macros.calls import register
from macros.expert_tables import expert_layout_table, expert_table, touched_table
from macros.format_tables import bits_table, format_table, mixture_table, mixture_working, native_table, rounding_table
from macros.inline import fact, number, source
from macros.model_numbers import active, bits, block, changed, config_value, expanded, times, touched
from macros.model_tables import beyond_table, block_table, config_table, model_table, parameter_working
from macros.pages import benchmark, calculator, presets, version
from macros.plots import plot
from macros.tables import (
    accelerator_table,
    device_count_table,
    fitting_table,
    llama_table,
    memory_option_table,
    precision_table,
    unit_table,
)

MACROS = (
    accelerator_table,
    accuracy,
    accuracy_figure,
    accuracy_figures,
    accuracy_left_out,
    accuracy_reasons,
    accuracy_summary,
    accuracy_table,
    accuracy_worst,
    active,
    benchmark,
    beyond_table,
    bits,
    bits_table,
    block,
    block_table,
    cache_table,
    calculator,
    changed,
    config_value,
    config_table,
    device_count_table,
    expanded,
    expert_layout_table,
    expert_table,
    fact,
    fitting_table,
    format_table,
    left_out_sources,
    llama_table,
    memory_option_table,
    mixture_table,
    mixture_working,
    model_table,
    native_table,
    number,
    parameter_working,
    plot,
    precision_table,
    presets,
    rounding_table,
    source,
    times,
    touched,
    touched_table,
    unit_table,
    version,
)


def define_env(env: Any) -> None:
    """Register the macros; mkdocs-macros calls this for every build, so an edited catalogue is read again."""
    try:
        check_models(catalog.reload())
    except CatalogError as error:
        raise BuildError(str(error)) from None
    inline.restart()
    pages.restart()
    plots.restart()
    register(env, MACROS)
