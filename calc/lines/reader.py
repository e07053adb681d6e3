"""The reader of a line: its names and quantities as fields, the kind of its question, and what no field takes."""

import re

from calc.catalog import Catalog
from calc.lines.chips import Chip, Chips
from calc.lines.device_names import Count, Name
from calc.lines.drafting import read_draft
from calc.lines.host import OF_CARDS, read_alone, read_bare, read_host, read_placed, read_processor
from calc.lines.line import Line
from calc.lines.makers import UNWANTED, read_unwanted
from calc.lines.names import names_of
from calc.lines.own_device import (
    NEAR,
    NO_CARD,
    OF_HOSTS,
    added,
    count_apart,
    in_laptop,
    is_another,
    macs,
    of_memory,
    of_size,
    other_kind,
)
from calc.lines.quantities import MEMORY, OF_ALL, at_a_time, quantities
from calc.lines.versions import read_version
from calc.lines.wording import (
    APPLE,
    BOUGHT,
    CACHES,
    DRAWS,
    EXTERNAL,
    GGUF,
    LAPTOP,
    LM_STUDIO,
    MLX,
    NODES,
    NOTHING,
    OF_APPLE,
    OF_FILES,
    OF_MACS,
    OF_PRICES,
    TASKS,
)
from calc.planner.wanted import made_for
from calc.planning.fit import in_one_machine
from calc.scenario.fields import HOST_ENGINE
from calc.units import GIB


class Reader(Chips):
    """Reads a line part by part; what no field takes at the end is given back, and said."""

    def __init__(self, text: object, facts: Catalog) -> None:
        super().__init__(Line(text), facts)
        self.names = names_of(facts)
        self.of_another = self.of_memory = False
        self.chips += read_unwanted(self.line)
        self.chips += [Chip(start, end, field, value) for start, end, field, value in read_placed(self.line)]
        self.alone = read_alone(self.line)  # the processor of the host, without a device
        self.read_names_of_formats()
        self.processor = read_processor(self.line, self.names)
        self.amounts = at_a_time(list(quantities(self.line, facts)))
        counted = any(amount.field in ("sequences", "of") for amount in self.amounts)
        self.amounts = [
            amount._replace(field="of") if amount.field == "at_once" and not counted else amount
            for amount in self.amounts
        ]
        self.wants = [amount for amount in self.amounts if amount.field == "asks"]
        self.read_program("engines", "engine")
        self.read_files()
        self.read_draft()
        self.read_models_and_devices()
        self.read_program("frameworks", "framework")
        self.leave_unknown()
        self.count_nodes()

    def read_names_of_formats(self) -> None:
        """Read a repository, which may say a number format, the cache's format, and that of the weights."""
        said = self.names.repository(self.line)
        if said:
            self.add(said[0], "model", said[0].id)
            if said[1]:
                self.add(said[0], "weights", said[1])
        for match in (match for pattern in CACHES for match in self.line.found(pattern)):
            formats = (self.names.format(name) for name in (match[1], f"{match[1]}_0"))  # of q4: q4_0
            cache = next((name for name in formats if name and self.names.of_caches(name)), None)
            if cache and self.value("kv_cache") in (None, cache):  # of keys, and the same of values
                self.line.claim(*match.span())
                self.chips.append(Chip(*match.span(), field="kv_cache", value=cache))
        if found := next(self.names.formats(self.line), None):
            if said and self.line.small[: said[0].end].endswith("gguf"):  # a file of any of these formats
                self.chips = [chip for chip in self.chips if chip.field != "weights"]
            if self.value("weights") is None:
                self.add(found, "weights", found.id)
            else:
                self.line.release(found.start, found.end)

    def read_program(self, kind: str, field: str) -> None:
        """Read the engine, before models with a word of its name, or what trains, after them; each with its version."""
        if found := next(self.names.listed(self.line, kind, 3), None):
            self.add(found, field, "mlx" if self.runs_mlx(found) else found.id)
            if version := read_version(found, self.line):
                self.add(version, "engine_version", version.value)

    def read_files(self) -> None:
        """Take llama.cpp, which reads such files, where a line says GGUF and no format; beside another it is left."""
        said, weights = next(self.line.found(GGUF), None), self.value("weights")
        if said is None or (weights and not OF_FILES.match(str(weights))):
            return
        self.line.claim(*said.span())
        if weights is None and self.value("engine") is None:
            self.chips.append(Chip(*said.span(), field="engine", value=HOST_ENGINE))

    def runs_mlx(self, program: Name) -> bool:
        """Return whether a program that runs models under llama.cpp or MLX is said to take the latter, claimed."""
        if not LM_STUDIO.fullmatch(self.line.small[program.start : program.end]):
            return False
        said = next(self.line.found(MLX), None)
        if said:
            self.line.claim(*said.span())
        return said is not None or str(self.value("weights")).startswith("mlx")

    def read_draft(self) -> None:
        """Read the model that drafts, before its name is taken for that of the one that answers."""
        if found := read_draft(self.line, self.names):
            self.add(found, "draft", found.id, found.others)

    def count_nodes(self) -> None:
        """Take the devices of all machines where a line says how many there are of these."""
        nodes = next((amount for amount in self.amounts if amount.field == "nodes"), None)
        if nodes is None:
            return
        counted = next((chip for chip in self.chips if chip.field == "accelerators"), None)
        whole = in_one_machine(str(self.value("accelerator")), self.facts)
        each = counted.value if counted else whole
        if each is None:
            self.line.release(nodes.start, nodes.end)
            return
        assert isinstance(each, int) and isinstance(nodes.value, int)
        for said in self.line.found(NODES):
            self.line.claim(*said.span())
        if counted and whole and each == nodes.value * whole:  # of all nodes: 2 nodes (16 GPUs)
            return
        if counted:
            self.chips[self.chips.index(counted)] = counted._replace(value=each * nodes.value)
        else:
            self.add(nodes, "accelerators", each * nodes.value)

    def read_models_and_devices(self) -> None:
        """Read names that the catalogue lists before those of several words, which could swallow a count."""
        model = None
        if self.value("model") is None:
            model = self.names.listed_model(self.line)
        device = None if self.alone else self.names.device(self.line)
        if not device:
            self.alone = self.alone or read_bare(self.line)
        if self.processor and not device and not BOUGHT.search(self.line.small):
            self.alone = self.alone or (self.processor.start, self.processor.end)
        if self.alone:
            self.chips.append(Chip(*self.alone, field="gpu_layers", value=0))
            for laptop in self.line.found(LAPTOP):  # whose processor is one, too
                self.line.claim(*laptop.span())
        elif device:
            self.read_size(*device)
            self.read_other()
        else:
            self.read_memory()
        self.take_host()
        maker = self.facts.accelerator(str(self.value("accelerator"))).vendor if self.value("accelerator") else "Apple"
        for apple in self.line.found(OF_APPLE) if maker == "Apple" else ():  # beside a card it is said
            self.line.claim(*apple.span())
        model = model or (self.names.model(self.line) if self.value("model") is None else None)
        if model:
            self.add(model, "model", model.id, model.others)

    def take_host(self) -> None:
        """Take what the line says of the host, but for chips that are processor and device in one."""
        device = self.value("accelerator")
        of_chip = device is not None and self.facts.accelerator(str(device)).shares_host_memory
        if not of_chip:
            host = read_host(self.line, self.processor, alone=bool(self.alone))
            self.chips += [Chip(start, end, field, value) for start, end, field, value in host]
        if processor := self.processor:
            chip = Chip(processor.start, processor.end, "processor", processor.id)
            self.chips.append(chip)
            if of_chip:
                self.give_back(chip)

    def read_size(self, device: Name, count: Count | None) -> None:
        """Take a device, and a memory beside it that is its own, that of one with the same name, or that of all."""
        device = of_size(in_laptop(device, self.line, self.facts), self.line, self.facts)
        for match in self.line.found(MEMORY):
            size = float(match[1].replace(",", ""))
            for name in (device.id, *device.others):
                memory = (self.facts.accelerator(name).quantity("memory") or 0) / GIB
                if min(abs(size / memory - 1), abs(size / memory / (count.value if count else 1) - 1)) < NEAR:
                    others = tuple(other for other in (device.id, *device.others) if other != name)
                    device = device._replace(id=name, others=others)
                    self.line.claim(*match.span())
                    break
        self.of_another = is_another(device, self.line, self.facts)
        self.add(device, "accelerator", device.id, device.others)
        if count := count_apart(self.line, added(self.line, count) or count):
            self.add(count, "accelerators", count.value)

    def read_other(self) -> None:
        """Take devices of another kind that are said to stand beside the first ones."""
        end = max(chip.end for chip in self.chips if chip.field in ("accelerator", "accelerators"))
        if found := other_kind(self.line, self.names, str(self.value("accelerator")), end):
            other, count = found
            self.add(other, "other_accelerator", other.id, other.others)
            if count:
                self.add(count, "other_accelerators", count.value)

    def read_memory(self) -> None:
        """Read a device of which only the memory is said, and how many there are."""
        apple = APPLE.search(self.line.small)
        laptop = None if apple or EXTERNAL.search(self.line.small) else LAPTOP.search(self.line.small)
        for match in self.line.found(OF_ALL if apple else MEMORY):
            size = float(match[1].replace(",", ""))
            found = of_memory(size, self.facts, apple=apple[0] if apple else "", laptop=bool(laptop))
            of_host = size >= NO_CARD and size in OF_HOSTS and not (apple or OF_CARDS.search(match[0]))
            if found is None or of_host:
                continue
            if laptop:
                self.line.claim(*laptop.span())
            pieces = self.line.pieces()
            if self.names.part_of_device(pieces, match.start()):
                continue  # the size is of a device that nobody knows
            window = [piece for piece in pieces if match.start() <= piece.start < match.end()]
            self.line.claim(*match.span())
            self.chips.append(Chip(*match.span(), field="accelerator", value=found.id, others=found.others))
            self.of_memory = not apple
            if count := self.names.count_beside(self.line, pieces, window):
                self.add(count, "accelerators", count.value)
            if apple:
                self.line.claim(*apple.span())
            return

    def leave_unknown(self) -> None:
        """Give back a device that was taken for its memory alone where an unknown word names it: Pi 5 8GB."""
        if not self.of_memory:
            return
        taken = [chip for chip in self.chips if chip.field in ("accelerator", "accelerators")]
        first = min(chip.start for chip in taken)
        before = next((part for part in self.line.unread() if not self.line.small[part.end : first].strip(" -")), None)
        if before is None or before.end > first:
            return
        if " " in before.text or self.line.free(max(before.start - 2, 0), before.start):  # not a model's "qat"
            self.give_back_device()

    def give_back_device(self) -> None:
        """Give back a device, which was taken for its memory alone or is another one, and how many of them."""
        self.of_memory = False
        for chip in [chip for chip in self.chips if chip.field in ("accelerator", "accelerators")]:
            self.give_back(chip)

    def macs(self) -> list[str]:
        """Return the chips that a line may mean which names a Mac and none of them, those on sale first."""
        wanted = self.value("accelerator") is None and "Apple" not in self.values(UNWANTED)
        return macs(self.line, self.facts) if wanted else []

    def read_macs(self, words: re.Pattern[str] = OF_MACS) -> None:
        """Take the maker of Macs where a line asks, by these words, which of them there has to be."""
        which = words.search(self.line.small)
        if which and "Apple" not in self.values(UNWANTED):
            self.chips.append(Chip(*which.span(), field="vendor", value="Apple"))

    def family(self) -> list[str]:
        """Return the models that a word may mean which is a part of their names alone, the newest first: mistral."""
        return self.names.family(self.line) if "model" in self.missing else []

    def read_family(self) -> None:
        """Take the models of a family that is named without a size, or those for a task, of which the line asks."""
        for part in self.line.unread():
            if found := self.facts.model_names.begun(part.text):
                self.line.claim(part.start, part.end)
                self.chips.append(Chip(part.start, part.end, "models", found))
                return
        for task, words in TASKS.items():
            if said := next(self.line.found(words), None):
                self.line.claim(*said.span())
                self.chips.append(Chip(*said.span(), field="models", value=made_for(task, self.facts)))
                return

    def read_of_devices(self, kind: str) -> None:
        """Take the words for power or prices, or the memory of a card that is looked for instead of one that has it."""
        for match in self.line.found({"power": DRAWS, "prices": OF_PRICES}.get(kind, NOTHING)):
            self.line.claim(*match.span())
        if kind != "cards":
            return
        for place, chip in enumerate(self.chips):
            if chip.field == "accelerator":
                memory = round((self.facts.accelerator(str(chip.value)).quantity("memory") or 0) / GIB)
                self.chips[place] = chip._replace(field="card_memory", value=memory, others=())
