"""Print all scores as JSON: what a build keeps of them."""

import json

from calc.validation.recorded import SCORED

found = {kind: scores() for kind, scores in SCORED.items()}
print(json.dumps({kind: {"scores": scores, "left_out": left_out} for kind, (scores, left_out) in found.items()}))
