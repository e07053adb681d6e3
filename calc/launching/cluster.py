"""Commands on more than one machine: by hand, under Slurm, and on Kubernetes."""

from calc.launching.command import command_text
from calc.launching.serving import HEAD, RAY_PORT, Served

GPUS = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Intel": "gpu.intel.com/xe"}
LEADER, NUMBER = "$LWS_LEADER_ADDRESS", "$LWS_WORKER_INDEX"  # as LeaderWorkerSet names them
RAY = "--distributed-executor-backend"  # by which vLLM reached other machines before it did so by itself
FIRST, OTHERS = "first machine", "other machines"


def replaced(text: str, names: dict[str, str]) -> str:
    """Return a text with names of a cluster in place of others."""
    for name, other in names.items():
        text = text.replace(name, other)
    return text


def by_machine(found: Served) -> list[tuple[str, str]]:
    """Return what runs on the first machine, and on each of the others, with who it is; one where there is one."""
    text = command_text(found.words, found.said)
    if found.machines == 1:
        return [("", text)]
    engine = found.launcher.id
    if by_ray(found):
        first = f"ray start --head --port={RAY_PORT}\n{text}"
        return [(FIRST, first), (OTHERS, f'ray start --block --address="{HEAD}:{RAY_PORT}"')]
    if engine == "vllm":
        return [
            (FIRST, replaced(text, {'"$RANK"': "0"})),
            (f"{OTHERS}, with RANK from 1 on", f"{text} \\\n  --headless"),
        ]
    if engine == "tensorrt-llm":
        devices = found.machines * found.devices
        return [(FIRST, f"mpirun -n {devices} --hostfile hosts \\\n  trtllm-llmapi-launch {text}")]
    return [("each machine, with RANK from 0 on", text)]


def by_ray(found: Served) -> bool:
    """Return whether Ray joins the machines, as vLLM of then had it."""
    return any(one.flag == RAY for one in found.said)


def slurm(found: Served) -> str:
    """Return a batch script for Slurm that starts all machines."""
    (_, first), (_, others) = (parts := by_machine(found))[0], parts[-1]
    lines = [
        "#!/bin/bash",
        f"#SBATCH --nodes={found.machines}",
        f"#SBATCH --ntasks-per-node={found.devices if found.launcher.id == 'tensorrt-llm' else 1}",
        f"#SBATCH --gpus-per-node={found.devices}",
        'export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
    ]
    text = command_text(found.words, found.said)
    rest, on_first = found.machines - 1, 'srun --overlap --nodes=1 --ntasks=1 -w "$HEAD"'
    on_others = f'srun --overlap --nodes={rest} --ntasks={rest} --exclude="$HEAD"'
    if by_ray(found):
        lines += [f"{on_first} ray start --head --port={RAY_PORT} --block &", "sleep 15"]
        lines += [f"{on_others} {others} &", "sleep 15", f"{on_first} {text}"]
    elif found.launcher.id == "vllm":
        counted = script("RANK=$((SLURM_NODEID + 1))\n" + others)
        lines += [f"{on_others} {counted} &", f"{on_first} {first}"]
    elif found.launcher.id == "tensorrt-llm":
        lines += [f"srun --mpi=pmix trtllm-llmapi-launch {text}"]
    else:
        lines += [everywhere(replaced(text, {"$RANK": "$SLURM_NODEID"}))]
    return "\n".join(lines) + "\n"


def everywhere(text: str) -> str:
    """Return a command that runs a text once on each machine, with the names that Slurm sets there."""
    return f"srun {script(text)}"


def script(text: str) -> str:
    """Return a command that runs the lines of a text, whatever quotes stand in it."""
    return f"bash -c \"$(cat <<'RUN'\n{text}\nRUN\n)\""


def kubernetes(found: Served, *, vendor: str, replicas: int) -> str:
    """Return a manifest: a deployment of replicas, or of groups of machines by LeaderWorkerSet."""
    name = "model"
    if found.machines == 1:
        pod = container(found, command_text(found.words, found.said), vendor)
        spec = f"replicas: {replicas}\nselector: {{matchLabels: {{app: {name}}}}}\ntemplate:\n"
        spec += indented(f"metadata: {{labels: {{app: {name}}}}}\nspec:\n" + indented(pod))
        return f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n{indented(spec)}"
    parts = by_machine(found)
    first, others = parts[0][1], parts[-1][1]
    names = {HEAD: LEADER, "$RANK": NUMBER}
    group = f"size: {found.machines}\nleaderTemplate:\n"
    group += indented("spec:\n" + indented(container(found, replaced(first, names), vendor)))
    group += "workerTemplate:\n"
    group += indented("spec:\n" + indented(container(found, replaced(others, names), vendor)))
    spec = f"replicas: {replicas}\nleaderWorkerTemplate:\n{indented(group)}"
    head = f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: {name}}}\nspec:\n"
    return head + indented(spec)


def container(found: Served, text: str, vendor: str) -> str:
    """Return a pod's container that runs a command on all devices of a machine, with the files that it reads."""
    launcher, resource = found.launcher, GPUS.get(vendor, "nvidia.com/gpu")
    image = launcher.images.get(vendor, launcher.image) or "IMAGE"
    lines = [f"cat > {name} <<'END'\n{content}END" for name, content in found.files]
    lines += [launcher.prepare] if launcher.prepare else []
    lines.append(f"{text} \\\n  {launcher.listens}" if launcher.listens else text)
    script = "\n".join(lines)
    run = f'  command: ["bash", "-c"]\n  args:\n    - |\n{indented(script, 6)}'
    limits = f'  resources: {{limits: {{{resource}: "{found.devices}"}}}}\n'
    shared = "  volumeMounts: [{name: shared-memory, mountPath: /dev/shm}]\n"
    volume = "volumes: [{name: shared-memory, emptyDir: {medium: Memory}}]\n"
    return f"containers:\n- name: server\n  image: {image}\n{run}{limits}{shared}{volume}"


def indented(text: str, by: int = 2) -> str:
    """Return lines further to the right."""
    return "".join(f"{' ' * by}{line}\n" for line in text.rstrip("\n").split("\n"))
