"""What the catalogue holds: accelerators, models, number formats; each fact with unit, basis, source and date."""

from calc.catalog.records.engines import (
    Engine,
    EngineCoefficient,
    Era,
    Packaged,
    Same,
    TowerBudget,
    version_numbers,
)
from calc.catalog.records.facts import Coefficient, Disagreement, Fact, Mismatch, Source
from calc.catalog.records.formats import (
    Mixture,
    ModelFormat,
    NumberFormat,
    Recipe,
    Rule,
    StoredWeights,
    Weights,
    WeightsFormat,
)
from calc.catalog.records.hardware import Accelerator, Link, Machine, Processor, Protocol
from calc.catalog.records.kernels import KernelFamily, KernelLaw
from calc.catalog.records.offers import Model, Price

__all__ = [
    "Accelerator",
    "Coefficient",
    "Disagreement",
    "Engine",
    "EngineCoefficient",
    "Era",
    "Fact",
    "KernelFamily",
    "KernelLaw",
    "Link",
    "Machine",
    "Mismatch",
    "Mixture",
    "Model",
    "ModelFormat",
    "NumberFormat",
    "Packaged",
    "Price",
    "Processor",
    "Protocol",
    "Recipe",
    "Rule",
    "Same",
    "Source",
    "StoredWeights",
    "TowerBudget",
    "Weights",
    "WeightsFormat",
    "version_numbers",
]
