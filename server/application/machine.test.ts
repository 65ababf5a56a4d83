// The control groups that limit the memory of this process.

import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryFiles } from "./machine.ts";

const used = (groups: string): string[] => memoryFiles(groups).map((files) => files.used);

test("the memory of the process's own control group comes before that of the container, in both versions of control groups", () => {
  assert.deepEqual(used("0::/system.slice/gantry.service\n"), ["/sys/fs/cgroup/system.slice/gantry.service/memory.current", "/sys/fs/cgroup/memory.current"]);
  assert.deepEqual(used("0::/\n"), ["/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.current"]);
  assert.deepEqual(used("5:cpu,cpuacct:/a\n4:memory:/docker/0b41\n"), [
    "/sys/fs/cgroup/memory/docker/0b41/memory.usage_in_bytes",
    "/sys/fs/cgroup/memory/memory.usage_in_bytes",
  ]);
  assert.deepEqual(used(""), []);
});
