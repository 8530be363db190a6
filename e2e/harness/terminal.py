"""Runs a command in a pseudo-terminal and plays a script against it.

stdin: JSON {"argv": [...], "cwd": "...", "env": {...}, "steps": [["expect text", "reply"], ...]}
       A reply [rows, columns] resizes the terminal; {"run": command, "type": text} runs a shell command first.
An expected text "file:PATH" waits for that file instead, for programs that say nothing.
stdout: JSON {"code": exit code (negative: signal), "raw": everything the terminal received}
"""
import fcntl, json, os, pty, select, struct, subprocess, sys, termios, time

job = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    os.chdir(job["cwd"])
    os.execvpe(job["argv"][0], job["argv"], job["env"])

screen, seen, steps = b"", 0, list(job["steps"])
deadline = time.monotonic() + 100  # only for what hangs
while time.monotonic() < deadline:
    if steps and steps[0][0].startswith("file:"):
        if os.path.exists(steps[0][0][5:]):
            os.write(terminal, steps.pop(0)[1].encode())
    elif steps and steps[0][0].encode() in screen[seen:]:
        expected, reply = steps.pop(0)
        seen = screen.index(expected.encode(), seen) + len(expected.encode())
        if isinstance(reply, list):
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *reply, 0, 0))
        elif isinstance(reply, dict):
            subprocess.run(["/bin/sh", "-ec", reply["run"]], cwd=job["cwd"], check=True)
            os.write(terminal, reply["type"].encode())
        else:
            os.write(terminal, reply.encode())
    if not select.select([terminal], [], [], 0.05)[0]:
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:  # the other side is closed
        break
    if not data:
        break
    screen += data
else:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
json.dump({"code": os.waitstatus_to_exitcode(status), "raw": screen.decode("utf8", "replace"), "missed": steps}, sys.stdout)
