"""The macros of the guide's pages: tables, numbers, calculators, each answered by `calc`; nothing is computed here."""

from typing import Any

from mkdocs.exceptions import BuildError

from calc import CatalogError, catalog
from calc.scenario import check_models
from macros import inline, pages
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
from macros.cache_tables import cache_figure, cache_table
from macros.calls import register
from macros.expert_tables import expert_layout_table, expert_table, touched_table
from macros.format_tables import bits_table, format_table, mixture_table, mixture_working, native_table, rounding_table
from macros.hardware_tables import (
    accelerator_table,
    claim_table,
    horizon_table,
    machine_table,
    memory_option_table,
    price_table,
    stale_days,
)
from macros.inline import fact, number, source
from macros.model_numbers import active, bits, block, changed, config_value, expanded, times, touched
from macros.model_tables import beyond_table, block_table, config_table, model_table, parameter_working
from macros.pages import benchmark, calculator, presets, version
from macros.planning_figures import break_even_figure
from macros.planning_numbers import (
    at_once,
    copies,
    flops_share,
    host_memory,
    owned,
    planned,
    served,
    training_total,
)
from macros.processor_tables import (
    coefficient,
    offload_check_table,
    offload_table,
    processor_bandwidth,
    processor_number,
    processor_table,
)
from macros.tables import (
    device_count_table,
    fitting_table,
    llama_table,
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
    at_once,
    benchmark,
    beyond_table,
    bits,
    bits_table,
    block,
    block_table,
    break_even_figure,
    cache_figure,
    cache_table,
    calculator,
    changed,
    claim_table,
    coefficient,
    config_value,
    config_table,
    copies,
    device_count_table,
    expanded,
    expert_layout_table,
    expert_table,
    fact,
    fitting_table,
    flops_share,
    format_table,
    horizon_table,
    host_memory,
    left_out_sources,
    llama_table,
    machine_table,
    memory_option_table,
    mixture_table,
    mixture_working,
    model_table,
    native_table,
    number,
    offload_check_table,
    offload_table,
    owned,
    parameter_working,
    planned,
    precision_table,
    presets,
    price_table,
    processor_bandwidth,
    processor_number,
    processor_table,
    rounding_table,
    served,
    source,
    stale_days,
    times,
    touched,
    touched_table,
    training_total,
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
    register(env, MACROS)
