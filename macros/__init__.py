"""The macros of the guide's pages: tables, numbers, calculators, each answered by `calc`; nothing is computed here."""

from typing import Any

from mkdocs.exceptions import BuildError

from calc import CatalogError, catalog
from calc.validation import questions, recorded
from calc.validation.soundness import check_whole
from macros import inline, kept, pages, plots, reads
from macros.accuracy.comparison import comparison_date, comparison_table, comparison_tools, serving_comparison_table
from macros.accuracy.kernels import kernel_device_table, kernel_table
from macros.accuracy.left_out import (
    accuracy_on_host,
    accuracy_ranges,
    accuracy_sources_left_out,
    accuracy_summary,
    accuracy_without_frameworks,
)
from macros.accuracy.page import (
    accuracy,
    accuracy_figure,
    accuracy_figures,
    accuracy_left_out,
    accuracy_reasons,
    accuracy_table,
    accuracy_worst,
)
from macros.activation_tables import checkpoint_table, layer_table
from macros.cache_tables import cache_table
from macros.calls import register
from macros.case_numbers import bits_in, cards, electricity, gained, operations, passes, shared, timed
from macros.case_tables import batch_table, deployment_table, horizon_table, needs_table
from macros.claims.page import claim, claims, claims_count, claims_table
from macros.device_tables import (
    balance,
    extreme,
    hierarchy_figure,
    memory_table,
    rate_ratio,
    rate_table,
    spec_sheet,
    vector_table,
)
from macros.doors import door_formats, door_hardware, door_models
from macros.downloads import data_files, data_sheet, wheel_link, wheel_name
from macros.expert_tables import expert_layout_table, expert_table, touched_table
from macros.format_tables import (
    bits_table,
    format_table,
    mixture_table,
    mixture_working,
    native_table,
    rounded,
    rounding_table,
)
from macros.formula_tables import formula_count, formula_table
from macros.framework_tables import framework_table
from macros.hardware_tables import (
    accelerator_table,
    claim_table,
    hosted_table,
    machine_table,
    memory_option_table,
    price_table,
    purchase_table,
    rent_table,
    stale_days,
)
from macros.inline import fact, given, number, source, stated
from macros.layout_figures import layout_figure
from macros.link_figures import cards_figure, ring_figure, switched_figure
from macros.link_tables import (
    exchange_table,
    fact_ratio,
    left_on_a_card,
    link_fact,
    link_name,
    link_ratio,
    link_share,
    link_table,
    linked_table,
    pair_table,
    peer_table,
    sending,
)
from macros.live_cases import question_tolerance, questions_count, questions_table
from macros.measured_tables import measured_chain
from macros.model_numbers import active, bits, block, changed, config_value, expanded, release, times, touched
from macros.model_tables import beyond_table, block_table, config_table, model_table, parameter_working
from macros.pages import (
    benchmark,
    calculator,
    calculator_list,
    embedding_table,
    presets,
    question,
    side_by_side,
    version,
)
from macros.planning_numbers import at_once, copies, flops_share, host_memory, owned, planned, served, training_total
from macros.plots import plot
from macros.pool_numbers import pools_error
from macros.precision_tables import optimizer_table, scheme_table, underflow_table, update_table
from macros.processor_tables import (
    coefficient,
    engine_value,
    offload_check_table,
    offload_table,
    processor_bandwidth,
    processor_number,
    processor_table,
)
from macros.repair_tables import repair_table
from macros.run_tables import data_set, operations_table, run_time_table, saved_table
from macros.scaling_tables import budget, law_growth_table, law_table, run_fact, run_flops, run_table, run_utilized
from macros.sharding_tables import stage_table, traffic_table
from macros.sources import address_table, measurement_source_table, source_count, source_table
from macros.speed_numbers import (
    acceptance_table,
    ceiling,
    drafts_table,
    faster,
    gains_table,
    multiplying,
    readers_table,
    reading,
    speed,
    speed_table,
    start_table,
)
from macros.split_tables import split_table
from macros.tables import device_count_table, fitting_table, llama_table, precision_table, unit_table
from macros.terms import glossary, group_links, term, term_count
from macros.training_figures import adapter_figure, stage_figure, step_figure
from macros.training_tables import copied_state_table, multiplier_table, rule_count_table, training_table

MACROS = (
    framework_table,
    accelerator_table,
    accuracy,
    accuracy_figure,
    accuracy_figures,
    accuracy_left_out,
    accuracy_reasons,
    accuracy_ranges,
    accuracy_on_host,
    accuracy_sources_left_out,
    accuracy_summary,
    accuracy_without_frameworks,
    accuracy_table,
    accuracy_worst,
    active,
    adapter_figure,
    address_table,
    at_once,
    balance,
    batch_table,
    benchmark,
    beyond_table,
    bits,
    bits_in,
    bits_table,
    block,
    block_table,
    budget,
    cache_table,
    calculator,
    calculator_list,
    cards,
    cards_figure,
    ceiling,
    changed,
    checkpoint_table,
    claim,
    claim_table,
    claims,
    claims_count,
    claims_table,
    coefficient,
    comparison_date,
    comparison_table,
    comparison_tools,
    serving_comparison_table,
    config_table,
    config_value,
    copied_state_table,
    copies,
    data_files,
    data_set,
    data_sheet,
    deployment_table,
    device_count_table,
    door_formats,
    door_hardware,
    door_models,
    electricity,
    exchange_table,
    expanded,
    expert_layout_table,
    expert_table,
    extreme,
    fact,
    fact_ratio,
    faster,
    fitting_table,
    flops_share,
    format_table,
    formula_count,
    formula_table,
    gained,
    given,
    glossary,
    group_links,
    hierarchy_figure,
    horizon_table,
    host_memory,
    law_growth_table,
    law_table,
    layer_table,
    layout_figure,
    left_on_a_card,
    kernel_device_table,
    kernel_table,
    link_fact,
    link_name,
    link_ratio,
    link_share,
    link_table,
    linked_table,
    llama_table,
    machine_table,
    measured_chain,
    measurement_source_table,
    memory_option_table,
    memory_table,
    mixture_table,
    mixture_working,
    model_table,
    multiplier_table,
    multiplying,
    native_table,
    needs_table,
    number,
    engine_value,
    offload_check_table,
    offload_table,
    operations,
    operations_table,
    optimizer_table,
    owned,
    pair_table,
    parameter_working,
    passes,
    peer_table,
    planned,
    plot,
    precision_table,
    embedding_table,
    presets,
    side_by_side,
    question,
    question_tolerance,
    questions_count,
    questions_table,
    hosted_table,
    price_table,
    purchase_table,
    rent_table,
    processor_bandwidth,
    processor_number,
    processor_table,
    rate_ratio,
    rate_table,
    start_table,
    gains_table,
    pools_error,
    acceptance_table,
    drafts_table,
    readers_table,
    reading,
    release,
    repair_table,
    ring_figure,
    rounded,
    rounding_table,
    rule_count_table,
    run_fact,
    run_flops,
    run_table,
    run_time_table,
    run_utilized,
    saved_table,
    scheme_table,
    sending,
    served,
    shared,
    split_table,
    source,
    source_count,
    source_table,
    spec_sheet,
    speed,
    speed_table,
    stage_figure,
    stage_table,
    stale_days,
    stated,
    step_figure,
    switched_figure,
    term,
    term_count,
    timed,
    times,
    touched,
    touched_table,
    traffic_table,
    training_table,
    training_total,
    underflow_table,
    unit_table,
    update_table,
    vector_table,
    version,
    wheel_link,
    wheel_name,
)


def define_env(env: Any) -> None:
    """Register the macros; mkdocs-macros calls this for every build, so an edited catalogue is read again."""
    try:
        facts = catalog.reload()
        recorded.digest.cache_clear()
        if not kept.begin():
            check_whole(facts)
            kept.note_sound()
        reads.watch(facts)
    except CatalogError as error:
        raise BuildError(str(error)) from None
    inline.restart()
    pages.restart()
    plots.restart()
    questions.questions.cache_clear()
    register(env, MACROS)
