// A process that is ended in the middle of a layer.

process.stdin.once("data", () => process.kill(process.pid, "SIGKILL"));
