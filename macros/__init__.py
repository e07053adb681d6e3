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
    left_out_training,
)
from macros.activation_tables import checkpoint_table, layer_table
from macros.cache_tables import cache_table
from macros.calls import register
from macros.expert_tables import expert_layout_table, expert_table, touched_table
from macros.format_tables import bits_table, format_table, mixture_table, mixture_working, native_table, rounding_table
from macros.inline import fact, number, source
from macros.link_figures import cards_figure, ring_figure, switched_figure
from macros.link_tables import (
    exchange_table,
    fact_ratio,
    link_fact,
    link_ratio,
    link_share,
    link_table,
    linked_table,
    pair_table,
    peer_table,
    sending,
)
from macros.measured_tables import measured_chain
from macros.model_numbers import active, bits, block, changed, config_value, expanded, times, touched
from macros.model_tables import beyond_table, block_table, config_table, model_table, parameter_working
from macros.pages import benchmark, calculator, presets, version
from macros.plots import plot
from macros.precision_tables import optimizer_table, scheme_table, underflow_table, update_table
from macros.scaling_tables import budget, law_growth_table, law_table, run_fact, run_flops, run_table, run_utilized
from macros.sharding_tables import stage_table, traffic_table
from macros.tables import (
    accelerator_table,
    device_count_table,
    fitting_table,
    llama_table,
    memory_option_table,
    precision_table,
    unit_table,
)
from macros.training_figures import adapter_figure, stage_figure, step_figure
from macros.training_tables import copied_state_table, multiplier_table, rule_count_table, training_table

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
    adapter_figure,
    benchmark,
    beyond_table,
    bits,
    bits_table,
    block,
    block_table,
    budget,
    cache_table,
    calculator,
    cards_figure,
    changed,
    checkpoint_table,
    config_table,
    config_value,
    copied_state_table,
    device_count_table,
    exchange_table,
    expanded,
    expert_layout_table,
    expert_table,
    fact,
    fact_ratio,
    fitting_table,
    format_table,
    law_growth_table,
    law_table,
    layer_table,
    left_out_sources,
    left_out_training,
    link_fact,
    link_ratio,
    link_share,
    link_table,
    linked_table,
    llama_table,
    measured_chain,
    memory_option_table,
    mixture_table,
    mixture_working,
    model_table,
    multiplier_table,
    native_table,
    number,
    optimizer_table,
    pair_table,
    parameter_working,
    plot,
    peer_table,
    precision_table,
    presets,
    ring_figure,
    rounding_table,
    rule_count_table,
    run_fact,
    run_flops,
    run_table,
    run_utilized,
    scheme_table,
    sending,
    source,
    stage_figure,
    stage_table,
    step_figure,
    switched_figure,
    times,
    touched,
    touched_table,
    traffic_table,
    training_table,
    underflow_table,
    unit_table,
    update_table,
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
