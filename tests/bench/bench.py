"""Speed, start-up time and memory against peers on this machine; called by tests/bench/run.

Contestants take turns, round by round, since a machine's speed changes from minute to minute: only ratios within one
run compare. Images per second are batch / median seconds of a step over all rounds; "best" is that of the fastest
step (stoker: the fastest of its metric lines of ten steps). stoker reads its input from a file and computes loss,
accuracy and log lines; the peers get their batches from memory.
"""

import argparse
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent
SOURCE = BENCH.parent.parent
BUILD = Path(os.environ.get("STOKER_BENCH_BUILD", SOURCE))
STOKER = os.environ.get("STOKER") or str(BUILD / "trainer" / "stoker")
FASHION = "/usr/share/datasets/fashion-mnist"
IMAGES = f"idx:{FASHION}/train-images-idx3-ubyte.gz,{FASHION}/train-labels-idx1-ubyte.gz"


class Served:
    """A peer that stays alive between rounds and runs some steps when asked."""

    def __init__(self, name, batch, *arguments):
        self.name, self.batch = name, batch
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        self.ready = json.loads(self.process.stdout.readline())

    def round(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Bare:
    """The program of bare oneDNN primitives."""

    name = "bare oneDNN"

    def __init__(self, batch, threads, steps):
        self.batch = batch
        self.command = [str(BUILD / "tests" / "bench" / "bare_convnet"), str(batch), str(threads), str(steps + 20)]

    def round(self):
        done = subprocess.run(self.command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["seconds"][20:]

    def close(self):
        pass


class Stoker:
    """A training a round; its metric lines give the seconds of a step, ten steps at a time."""

    LINE = 10

    def __init__(self, folder, model, data, batch, threads, ranks, steps, name="stoker"):
        self.name, self.folder, self.batch, self.rounds = name, folder, batch, 0
        launcher = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks else []
        self.command = [*launcher, STOKER, "train", "--model", str(model), "--train", data, "--optimizer",
                        "sgd:momentum=0.9", "--learning-rate", "0.01", "--loss", "sparse_categorical_crossentropy",
                        "--metrics", "accuracy", "--batch-size", str(batch), "--threads", str(threads), "--steps",
                        str(steps + 2 * self.LINE), "--epochs", "1000000", "--log-every", str(self.LINE)]
        self.reports = []

    def round(self):
        output = self.folder / f"run{self.rounds}-{time.monotonic_ns()}"
        self.rounds += 1
        subprocess.run([*self.command, "--output", str(output)], capture_output=True, check=True)
        lines = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
        self.reports.append(json.loads((output / "report.json").read_text()))
        return [self.batch / line["samples_per_second"] for line in lines[2:] if line["phase"] == "train"]

    def compute_seconds(self):
        """Of a step: forward, backward and optimizer, the median over the rounds."""
        return statistics.median(sum(report["breakdown"][part] for part in ("forward", "backward", "optimizer")) /
                                 report["steps"] for report in self.reports)

    def close(self):
        pass


def compare(title, contestants, rounds):
    """Runs the contestants in turns; returns {name: figures} and prints a table."""
    seconds = {one.name: [] for one in contestants}
    for _ in range(rounds):
        for one in contestants:
            seconds[one.name] += one.round()
    for one in contestants:
        one.close()
    print(f"\n{title}")
    result = {}
    for one in contestants:
        name, batch, values = one.name, one.batch, seconds[one.name]
        result[name] = {"images_per_second": batch / statistics.median(values), "best": batch / min(values),
                        "measurements": len(values)}
        print(f"  {name:24}{result[name]['images_per_second']:10.0f} [{result[name]['best']:.0f}] images/s", flush=True)
    return result


def add_ratios(result):
    """stoker's medians over each other contestant's."""
    ours = result["stoker"]["images_per_second"]
    result["ratios"] = {name: ours / figures["images_per_second"] for name, figures in result.items() if name != "stoker"}
    for name, ratio in result["ratios"].items():
        print(f"  stoker / {name:15}{ratio:10.2f}")
    return result


def start_up(model, data, folder):
    """Seconds from exec to the line of the first step, and peak memory, of one process with two threads."""
    command = [STOKER, "train", "--model", str(model), "--train", data, "--loss", "sparse_categorical_crossentropy",
               "--optimizer", "sgd:momentum=0.9", "--batch-size", "64", "--threads", "2", "--log-every", "1", "--steps", "1"]
    times = []
    for index in range(5):
        output, start = folder / f"start{index}", time.time()
        subprocess.run([*command, "--output", str(output)], capture_output=True, check=True)
        times.append(json.loads((output / "metrics.jsonl").read_text())["time"] - start)
    long_run = [*command[:-1], "200", "--output", str(folder / "memory")]
    code = ("import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], capture_output=True, check=True)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)")
    peak = subprocess.run([sys.executable, "-c", code, *long_run], capture_output=True, text=True, check=True).stdout
    return {"ready": statistics.median(times), "peak_mb": float(peak)}


def unpacked(folder):
    """The training images without compression; returns their DATA argument."""
    for name in ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"):
        (folder / name).write_bytes(gzip.decompress(Path(FASHION, name + ".gz").read_bytes()))
    return f"idx:{folder}/train-images-idx3-ubyte,{folder}/train-labels-idx1-ubyte?scale=1/255"


def resnet_data(folder):
    """64 random images as .npz; returns its DATA argument."""
    import numpy
    random = numpy.random.default_rng(0)
    numpy.savez(folder / "images.npz", x=random.integers(0, 256, (64, 224, 224, 3), dtype="uint8"),
                y=random.integers(0, 1000, 64, dtype="int32"))
    return f"npz:{folder}/images.npz?x=x&y=y&scale=1/255"


def built_in(name, folder, *more):
    path = folder / f"{name}.json"
    subprocess.run([STOKER, "model", name, "-o", str(path), *more], check=True, stdout=subprocess.DEVNULL)
    return path


def python_peer(file, name, model, batch, threads, ranks, steps):
    return Served(name, batch // ranks * ranks, sys.executable, str(BENCH / file), model, str(batch), str(threads), str(ranks), str(steps))


def measure_convnet(folder, steps, rounds):
    batch, data = 64, IMAGES + "?scale=1/255"
    model = built_in("convnet", folder, "--classes", "10", "--input-shape", "28x28x1")
    torch_peer = python_peer("peer_torch.py", "PyTorch", "convnet", batch, 2, 1, steps)
    keras_peer = python_peer("peer_keras.py", "Keras/TensorFlow", "convnet", batch, 2, 1, steps)
    result = {"start": {"stoker": start_up(model, unpacked(folder), folder / "plain"),
                        "stoker, input .gz": start_up(model, data, folder / "gz"),
                        "PyTorch": torch_peer.ready, "Keras/TensorFlow": keras_peer.ready}}
    for name, figures in result["start"].items():
        print(f"  {name:24}{figures['ready']:10.2f} s to the first step, {figures['peak_mb']:.0f} MB at most", flush=True)
    result["one process, 2 threads"] = add_ratios(compare(
        "convnet, batch 64, one process of 2 threads",
        [Stoker(folder, model, data, batch, 2, 0, steps), torch_peer, keras_peer, Bare(batch, 2, steps)], rounds))
    two = Stoker(folder, model, data, batch, 1, 2, steps)
    one = Stoker(folder, model, data, batch // 2, 1, 0, steps, "stoker, 1 rank, batch 32")
    result["2 ranks of 1 thread"] = add_ratios(compare(
        "convnet, batch 64, 2 ranks of 1 thread",
        [two, one, python_peer("peer_torch.py", "PyTorch DDP (gloo)", "convnet", batch, 1, 2, steps)], rounds))
    result["compute of 2 ranks / 1 rank"] = two.compute_seconds() / one.compute_seconds()
    print(f"  seconds of computing a step, 2 ranks / 1 rank of half the batch {result['compute of 2 ranks / 1 rank']:.3f}")
    result["reports"] = {"2 ranks of 1 thread": two.reports, "1 rank of 1 thread, half the batch": one.reports}
    return result


def measure_resnet(folder, steps, rounds):
    batch = 16
    model = built_in("resnet50", folder, "--classes", "1000", "--input-shape", "224x224x3")
    return add_ratios(compare(
        "ResNet-50, 224×224×3, batch 16, one process of 2 threads",
        [Stoker(folder, model, resnet_data(folder), batch, 2, 0, steps),
         python_peer("peer_torch.py", "PyTorch", "resnet50", batch, 2, 1, steps)], rounds))


def machine():
    cpu = [line.partition(":")[2].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"cpu": cpu[0] if cpu else platform.processor(), "cores": os.cpu_count(), "kernel": platform.release(),
            "load_before": os.getloadavg()[0], "python": platform.python_version()}


def main():
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="bench.json", help="the JSON file [bench.json]")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant [5]")
    parser.add_argument("--steps", type=int, default=200, help="steps a turn [200]")
    parser.add_argument("--resnet50", action="store_true", help="ResNet-50 too (some minutes)")
    arguments = parser.parse_args()
    result = {"machine": machine(), "rounds": arguments.rounds, "steps": arguments.steps}
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as name:
        result["convnet"] = measure_convnet(Path(name), arguments.steps, arguments.rounds)
        if arguments.resnet50:
            result["resnet50"] = measure_resnet(Path(name), 20, min(arguments.rounds, 2))
    Path(arguments.output).write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten: {arguments.output}")


if __name__ == "__main__":
    main()
