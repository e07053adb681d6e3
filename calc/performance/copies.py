"""What an engine does to operations: passes over memory around caches, products and states, and tiles of attention."""

from calc.performance.device_laws import PLAIN
from calc.performance.kernels import FEW_ROWS, MOST_DECODED
from calc.performance.operations import Attention, Copy, Counted, Experts, HostCopy, Pass, Product, Recurrence
from calc.performance.schedules import Schedule

UNPACKED_BYTES = 2.0  # of an element of 16 bit
STATES_ON_HOST = "states_on_host"
EXPERTS_IN_TURN = "experts_in_turn"
PROMPTS = "prompts"  # of coefficients: in passes that carry prompts


def with_copies(operations: Pass, schedule: Schedule, *, joins: bool, prompts: bool, decodes: bool) -> Pass:
    """Return a pass as an engine works it off, with what it copies.

    `joins`: new entries join a cache that there is; `prompts`: it carries prompts; `decodes`: it decodes, too.
    """
    if prompts and decodes and schedule.tile_rows:
        operations = beside_prompts(operations, schedule)
    if joins and schedule.cache_passes:
        operations += copies_of_cache(operations, schedule)
    if schedule.copies_states:
        operations += copies_of_states(operations, schedule, prompts=prompts)
    return around_products(operations, schedule) if schedule.copies_products else operations


def beside_prompts(operations: Pass, schedule: Schedule) -> Pass:
    """Return a pass in which attention of decoded tokens is a part of the kernel that attends to prompts.

    That kernel's tiles have as many rows as are good for prompts, of which a decoded token fills one, or those of the
    query heads that share its keys. Latent attention decodes in a kernel of its own.
    """
    found: list[Counted] = []
    for item in operations:
        step = item.operation
        if isinstance(step, Attention) and step.queries <= MOST_DECODED and not step.latent:
            sharing = step.heads / step.kv_heads if schedule.packs_heads else 1.0
            item = item._replace(operation=step._replace(padding=max(schedule.tile_rows / sharing / step.queries, 1.0)))
        found.append(item)
    return tuple(found)


def copies_of_cache(operations: Pass, schedule: Schedule) -> Pass:
    """Return the passes over the cache that an engine makes in a pass beside those of attention.

    Joining new entries to a cache reads and writes all of it. KV heads that are repeated for the query heads that share
    them are read, and written for each of these. Either takes elements one by one.
    """
    found: list[Counted] = []
    join, repeat = schedule.of("join_cycles"), schedule.of("repeat_cycles")
    for operation, times in operations:
        if isinstance(operation, Attention):
            size, elements = operation.cache_bytes, operation.cache_bytes / UNPACKED_BYTES
            joined = Copy("Cache with new entries", schedule.cache_passes * size, 2.0, join * elements)
            found.append(Counted(joined, times))
            if schedule.repeats_heads and operation.heads > operation.kv_heads and not operation.latent:
                sharing = operation.heads / operation.kv_heads
                repeated = Copy("KV heads repeated", (1.0 + sharing) * size, 2.0, repeat * sharing * elements)
                found.append(Counted(repeated, times))
    return tuple(found)


def copies_of_states(operations: Pass, schedule: Schedule, *, prompts: bool) -> Pass:
    """Return the passes over the states of recurrent layers that an engine makes beside their update."""
    found: list[Counted] = []
    for operation, times in operations:
        if isinstance(operation, Recurrence):
            kind = operation.kind.replace(" ", "-")
            kinds = (f"{kind}_{PROMPTS}", kind, "") if prompts else (kind, "")
            moved = schedule.of("state_passes", kinds) * operation.state_bytes / 2.0  # which is read and written
            copied = Copy("Copies of states", moved, schedule.of("state_kernels", kinds))
            found.append(Counted(copied, times))
            if STATES_ON_HOST in schedule.values and schedule.of(STATES_ON_HOST, kinds):  # no kernel here updates them
                found.append(Counted(HostCopy("States to the host and back", operation.state_bytes / 2.0), 2.0 * times))
    return tuple(found)


def around_products(operations: Pass, schedule: Schedule) -> Pass:
    """Return a pass with what an engine copies around products of more rows than its own kernels take.

    Weights are unpacked to 16 bit, in which a library multiplies them; where activations are FP32, it is given the
    operand and gives the result in 16 bit.
    """
    found: list[Counted] = []
    in_turn = EXPERTS_IN_TURN in schedule.values and schedule.of(EXPERTS_IN_TURN) > 0.0
    for item in operations:
        product = item.operation
        if isinstance(product, Experts) and in_turn:
            own = schedule.product(product.kernel)
            if own.unpack_rows and product.tokens * product.active >= own.unpack_rows * product.touched:
                count = product.touched * product.matrices
                plain = UNPACKED_BYTES * count * product.n * product.k
                unpacked = Copy("Experts unpacked", product.weight_bytes + plain, own.launches * count)
                found.append(Counted(unpacked, item.times))
                item = Counted(product._replace(kernel=PLAIN, weight_bytes=plain), item.times)
        elif isinstance(product, Product):
            own = schedule.found.get(product.kernel) or schedule.product(product.kernel)
            if own.unpack_rows and product.m >= own.unpack_rows:
                plain = UNPACKED_BYTES * product.n * product.k
                cycles = own.unpack_cycles * product.n * product.k
                unpacked = Copy("Weights unpacked", product.weight_bytes + plain, own.launches, cycles)
                found.append(Counted(unpacked, item.times))
                product = product._replace(kernel=PLAIN, weight_bytes=plain)
                item = Counted(product, item.times)
            if schedule.converted_bytes and product.kernel == PLAIN and product.m > FEW_ROWS:
                size = schedule.converted_bytes * product.m * (product.n + product.k)
                found.append(Counted(Copy("Operand and result converted", size, 2.0), item.times))
        found.append(item)
    return tuple(found)
