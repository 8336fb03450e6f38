# SPDX-License-Identifier: GPL-2.0-or-later
"""Write one NUMBER-NAME.job (a bash script), .timeout and .needs for each test to run.

jobs.py SOURCE BUILD RESULTS KERNEL TEST…; a TEST is a script of tests/vm, a ctest test or a label.
"""
import json
import os
import re
import shlex
import subprocess
import sys

# What ends a test that hangs. It is no verdict on speed: a script has this many times its declared cost, and ten minutes
# at least; a ctest test has this many times its TIMEOUT.
PATIENCE_COST = 20
PATIENCE_TIMEOUT = 3
LEAST = 600

source, build, results, kernel, *wanted = sys.argv[1:]
scripts = os.path.join(source, "tests/vm")
icount = os.environ.get("VM_ICOUNT") == "1"


def script_names():
    return sorted(f[:-3] for f in os.listdir(scripts) if re.fullmatch(r"[0-9]\w*\.sh", f))


def head(name, what):
    """What a script's head says after `# vm-WHAT:`; None: nothing."""
    with open(os.path.join(scripts, name + ".sh"), encoding="utf-8") as f:
        found = re.search(rf"^# vm-{what}: *(.*)", f.read(4000), re.M)
    return found and found[1]


def counts_instructions(name):
    return (head(name, "icount") or "").startswith("yes")


def ctest_tests():
    """All ctest tests of the build tree, read once: name -> test."""
    if not hasattr(ctest_tests, "all"):
        done = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"],
                              capture_output=True, text=True, check=False)
        found = json.loads(done.stdout)["tests"] if done.returncode == 0 else []
        ctest_tests.all = {t["name"]: t for t in found if "command" in t}
    return ctest_tests.all


def properties(test):
    return {p["name"]: p["value"] for p in test.get("properties", [])}


def script_job(name):
    if counts_instructions(name) and not icount:
        sys.exit(f"{name} needs vm-testbed/run --icount")
    env = {"BWL_BUILD": build, "BWL_SOURCE": source}
    env.update({k: os.environ[k] for k in (head(name, "env") or "").split() if k in os.environ})
    return {"name": name, "command": ["bash", os.path.join(scripts, name + ".sh")], "cwd": source, "env": env,
            "path": [], "timeout": max(LEAST, PATIENCE_COST * int(head(name, "cost") or 0)),
            "needs": (head(name, "needs") or "").split()}


def ctest_job(name):
    test = ctest_tests()[name]
    props = properties(test)
    env = dict(e.split("=", 1) for e in props.get("ENVIRONMENT", []))
    first = "PATH=path_list_prepend:"
    path = [m.removeprefix(first) for m in props.get("ENVIRONMENT_MODIFICATION", []) if m.startswith(first)]
    return {"name": name, "command": test["command"], "env": env, "needs": [], "path": path,
            "cwd": props.get("WORKING_DIRECTORY", build), "timeout": PATIENCE_TIMEOUT * int(props.get("TIMEOUT", 300))}


def resolve(word):
    name = os.path.basename(word)
    name = name[:-3] if name.endswith(".sh") else name
    if name in script_names():
        return [script_job(name)]
    if word in ctest_tests():
        return [ctest_job(word)]
    labelled = [n for n, t in ctest_tests().items() if word in properties(t).get("LABELS", [])]
    if labelled and word != "vm":
        return [ctest_job(n) for n in labelled]
    sys.exit(f"no test '{word}': tests/vm has {' '.join(script_names())}; for ctest's tests and "
             f"labels build {build} first")


jobs = [job for word in wanted for job in resolve(word)]
for i, job in enumerate(jobs):
    base = os.path.join(results, f"{i:03d}-{job['name']}")
    job["env"].update(BWL_VM=kernel, BWL_VM_CACHE=os.environ["VM_CACHE"])
    with open(base + ".job", "w", encoding="utf-8") as f:
        f.write(f"cd {shlex.quote(job['cwd'])} || exit 1\n")
        for key, value in job["env"].items():
            f.write(f"export {key}={shlex.quote(value)}\n")
        for folder in job["path"]:
            f.write(f"export PATH={shlex.quote(folder)}:$PATH\n")
        f.write("exec " + shlex.join(job["command"]) + "\n")
    with open(base + ".timeout", "w", encoding="utf-8") as f:
        f.write(str(job["timeout"]))
    if job["needs"]:
        with open(base + ".needs", "w", encoding="utf-8") as f:
            f.write("\n".join(job["needs"]) + "\n")
