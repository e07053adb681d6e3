"""Print all scores, and what is planned for published deployments, as JSON: what a build keeps of them."""

import gc
import json

from calc.validation.deployments import choices
from calc.validation.recorded import SCORED

gc.disable()  # what is kept is small, and searching for cycles takes a tenth of the time
found = {kind: scores() for kind, scores in SCORED.items()}
scored = {kind: {"scores": scores, "left_out": left_out} for kind, (scores, left_out) in found.items()}
print(json.dumps({"scored": scored, "choices": choices()}))
