"""Commands on more than one machine: by hand, under Slurm, and on Kubernetes."""

from calc.launching.command import command_text
from calc.launching.serving import HEAD, RAY_PORT, Served

GPUS = {"NVIDIA": "nvidia.com/gpu", "AMD": "amd.com/gpu", "Intel": "gpu.intel.com/xe"}
LEADER, NUMBER = "$LWS_LEADER_ADDRESS", "$LWS_WORKER_INDEX"  # as LeaderWorkerSet names them
RAY = "--distributed-executor-backend"  # by which vLLM reached other machines before it did so by itself
FIRST, OTHERS = "first machine", "other machines"
BY_SSH = "tensorrt-llm"  # the engine whose first machine starts the others' ranks, by MPI over SSH
HOSTS = "$HOSTS"  # all machines with the ranks of each: first:8,second:8
# The folder of a secret may be written by all, which a server of SSH refuses otherwise.
SERVER = "apt-get update && apt-get install -y openssh-server && mkdir -p /run/sshd\n/usr/sbin/sshd -o StrictModes=no"
KEYS = "ssh"  # the secret with the keys that pods know each other by
STRANGERS = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"


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
    if engine == BY_SSH:
        ranks = f'-n {found.machines * found.devices} -H {HOSTS} \\\n  -mca plm_rsh_args "{STRANGERS}"'
        first = f"mpirun --allow-run-as-root {ranks} \\\n  trtllm-llmapi-launch {text}"
        return [(FIRST, first), (OTHERS, f"{SERVER} -D")]
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
    elif found.launcher.id == BY_SSH:
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
    by_ssh = found.launcher.id == BY_SSH
    if by_ssh:
        first = f"{SERVER}\n{reached(found)}{first}"
    group = f"size: {found.machines}\nleaderTemplate:\n"
    leader = container(found, replaced(first, names), vendor, keys=by_ssh)
    group += indented("spec:\n" + indented(leader))
    group += "workerTemplate:\n"
    worker = container(found, replaced(others, names), vendor, keys=by_ssh, serves=not by_ssh)
    group += indented("spec:\n" + indented(worker))
    spec = f"replicas: {replicas}\nleaderWorkerTemplate:\n{indented(group)}"
    head = f"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {{name: {name}}}\nspec:\n"
    return head + indented(spec)


def reached(found: Served) -> str:
    """Return the lines by which a group's leader names its pods with their ranks, and waits for each of the others."""
    return (
        f"HOSTS={LEADER}:{found.devices}\n"
        f"for number in $(seq {found.machines - 1}); do\n"
        f"  pod=${{LWS_LEADER_ADDRESS/./-$number.}}\n"
        f'  until ssh {STRANGERS} "$pod" true; do sleep 5; done\n'
        f"  HOSTS=$HOSTS,$pod:{found.devices}\n"
        "done\n"
    )


def container(found: Served, text: str, vendor: str, *, keys: bool = False, serves: bool = True) -> str:
    """Return a pod's container that runs a command on all devices of a machine.

    With the files that it reads, and the flag by which a server listens to others than its own pod, where it `serves`;
    with the keys of a secret where it reaches other pods by SSH.
    """
    launcher, resource = found.launcher, GPUS.get(vendor, "nvidia.com/gpu")
    image = launcher.images.get(vendor, launcher.image) or "IMAGE"
    lines = [f"cat > {name} <<'END'\n{content}END" for name, content in found.files] if serves else []
    lines += [launcher.prepare] if launcher.prepare else []
    lines.append(f"{text} \\\n  {launcher.listens}" if launcher.listens and serves else text)
    script = "\n".join(lines)
    run = f'  command: ["bash", "-c"]\n  args:\n    - |\n{indented(script, 6)}'
    limits = f'  resources: {{limits: {{{resource}: "{found.devices}"}}}}\n'
    mounts, volumes = (
        ["{name: shared-memory, mountPath: /dev/shm}"],
        ["{name: shared-memory, emptyDir: {medium: Memory}}"],
    )
    if keys:
        mounts.append("{name: keys, mountPath: /root/.ssh}")
        volumes.append(f"{{name: keys, secret: {{secretName: {KEYS}, defaultMode: 0600}}}}")
    shared, volume = f"  volumeMounts: [{', '.join(mounts)}]\n", f"volumes: [{', '.join(volumes)}]\n"
    return f"containers:\n- name: server\n  image: {image}\n{run}{limits}{shared}{volume}"


def indented(text: str, by: int = 2) -> str:
    """Return lines further to the right."""
    return "".join(f"{' ' * by}{line}\n" for line in text.rstrip("\n").split("\n"))
