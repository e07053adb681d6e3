"""The macros of the guide's pages: tables, numbers, calculators, each answered by `calc`; nothing is computed here.

Each module names in `__all__` the macros that it has for pages.
"""

from typing import Any

from mkdocs.exceptions import BuildError

from calc import CatalogError, catalog
from calc.validation import questions, recorded
from calc.validation.soundness import check_whole
from macros import (
    activation_tables,
    cache_tables,
    case_numbers,
    case_tables,
    device_tables,
    doors,
    downloads,
    expert_tables,
    format_tables,
    formula_tables,
    framework_tables,
    hardware_tables,
    inline,
    kept,
    layout_figures,
    link_figures,
    link_tables,
    live_cases,
    measured_tables,
    model_numbers,
    model_tables,
    pages,
    planning_numbers,
    plots,
    pool_numbers,
    precision_tables,
    price_tables,
    processor_tables,
    reads,
    repair_tables,
    run_tables,
    scaling_tables,
    sharding_tables,
    sources,
    speed_numbers,
    split_tables,
    tables,
    terms,
    training_figures,
    training_tables,
)
from macros.accuracy import comparison, kernels, left_out
from macros.accuracy import page as accuracy_page
from macros.calls import register
from macros.claims import page as claims_page

MODULES = (
    accuracy_page,
    activation_tables,
    cache_tables,
    case_numbers,
    case_tables,
    claims_page,
    comparison,
    device_tables,
    doors,
    downloads,
    expert_tables,
    format_tables,
    formula_tables,
    framework_tables,
    hardware_tables,
    inline,
    kernels,
    layout_figures,
    left_out,
    link_figures,
    link_tables,
    live_cases,
    measured_tables,
    model_numbers,
    model_tables,
    pages,
    planning_numbers,
    plots,
    pool_numbers,
    precision_tables,
    price_tables,
    processor_tables,
    repair_tables,
    run_tables,
    scaling_tables,
    sharding_tables,
    sources,
    speed_numbers,
    split_tables,
    tables,
    terms,
    training_figures,
    training_tables,
)
MACROS = tuple(getattr(module, name) for module in MODULES for name in module.__all__)


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
