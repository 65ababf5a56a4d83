// Completion in real shells: each loads the script of `gantry completion` and lists its suggestions.

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { gantry, gantryFile } from "./processes.ts";

const run = promisify(execFile);
const cases: readonly (readonly [line: string, offers: readonly string[], withholds: readonly string[]])[] = [
  ["gantry con", ["context", "config"], ["login"]],
  ["gantry iam gr", ["groups"], ["roles"]],
  ["gantry iam groups ", ["create", "delete", "list"], ["groups"]],
  ["gantry iam groups list --descen", ["--descendants-of"], ["--limit"]],
  ["gantry context use ", ["acme", "other"], ["list"]],
  ["gantry whoami --context ac", ["acme"], ["other"]],
  ["gantry iam capabilities list -o js", ["json", "jsonl"], ["table"]],
  ["gantry completion ", ["bash", "zsh", "fish"], []],
];

let folder: string;
let env: Record<string, string>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "gantry-completion-"));
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin", "gantry"), `#!/bin/sh\nexec "${process.execPath}" "${gantryFile}" "$@"\n`);
  await chmod(join(folder, "bin", "gantry"), 0o755);
  env = {
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, "config"),
    PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH ?? ""}`,
    LANG: "C.UTF-8",
    TERM: "dumb",
  };
  for (const name of ["acme", "other"])
    assert.equal(
      (await gantry(["context", "set", name, "--server", `https://${name}.example.com`], { env: { XDG_CONFIG_HOME: join(folder, "config") } })).code,
      0,
    );
  for (const shell of ["bash", "zsh", "fish"]) await writeFile(join(folder, shell), (await gantry(["completion", shell])).stdout);
});
after(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
});

const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;
const lackOf = (program: string): string | false => !has(program) && `${program} is not here: its completion was not tried`;

const outputOf = async (program: string, args: readonly string[]): Promise<string[]> =>
  (await run(program, args, { env, cwd: folder })).stdout.trim().split("\n");

const checkOffers = (shell: string, line: string, offered: readonly string[], [offers, withholds]: readonly [readonly string[], readonly string[]]): void => {
  for (const each of offers) assert.ok(offered.includes(each), `${shell}: ${line}| offers ${JSON.stringify(offered)}, not ${each}`);
  for (const each of withholds) assert.ok(!offered.includes(each), `${shell}: ${line}| offers ${each}`);
};

test("bash completes commands, options, their values and the user's contexts", { skip: lackOf("bash") }, async () => {
  // Sets the variables that readline sets, calls the function, and prints its result.
  const ask = `source "${join(folder, "bash")}"
COMP_LINE=$1 COMP_POINT=\${#1} _gantry_complete
printf '%s\\n' "\${COMPREPLY[@]}"`;
  for (const [line, ...wanted] of cases) checkOffers("bash", line, await outputOf("bash", ["--norc", "--noprofile", "-c", ask, "bash", line]), wanted);
  // Readline treats the text after = as a new word.
  checkOffers("bash", "--context=", await outputOf("bash", ["--norc", "--noprofile", "-c", ask, "bash", "gantry whoami --context=o"]), [["other"], ["acme"]]);
});

test("fish completes commands, options, their values and the user's contexts", { skip: lackOf("fish") }, async () => {
  for (const [line, ...wanted] of cases) {
    const offered = await outputOf("fish", ["--no-config", "-c", `source "${join(folder, "fish")}"; complete --do-complete ${JSON.stringify(line)}`]);
    checkOffers(
      "fish",
      line,
      offered.map((each) => each.split("\t")[0] ?? ""),
      wanted,
    );
  }
});

test("zsh completes commands, options, their values and the user's contexts", { skip: lackOf("zsh") }, async () => {
  // A real line editor in a pseudo-terminal types the line, presses Tab and prints the suggestions.
  const ask = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PROMPT= RPROMPT=; stty columns 300 2>/dev/null; autoload -Uz compinit && compinit -u -D; source "${join(folder, "zsh")}"'
zpty -w shell 'told() { builtin compadd -A shown "$@"; print -l -- "offered:"$^shown; builtin compadd "$@" }'
zpty -w shell 'offered() { compadd() { told "$@" }; _main_complete; print -- offered-end; }'
zpty -w shell 'zle -C offered complete-word offered; bindkey "^I" offered; print ready-""now'
zpty -r shell reply '*ready-now*'
zpty -w -n shell "$1"$'\\t'
zpty -r -t shell reply 2>/dev/null
zpty -r shell reply '*offered-end*'
print -r -- "$reply"
zpty -d shell`;
  for (const [line, ...wanted] of cases) {
    const shown = await outputOf("zsh", ["-f", "-c", ask, "zsh", line]);
    const offered = shown.flatMap((each) => /offered:(\S+)/.exec(each)?.[1] ?? []);
    checkOffers("zsh", line, offered, wanted);
  }
});

test("an unreadable context file, an unknown command or a broken option yields no suggestion and no output", async () => {
  const open = join(folder, "open");
  await mkdir(join(open, "gantry"), { recursive: true });
  await writeFile(join(open, "gantry", "contexts.json"), "not JSON");
  for (const words of [
    ["context", "use", ""],
    ["nothing", ""],
    ["whoami", "--nothing", ""],
  ]) {
    const { code, stdout, stderr } = await gantry(["__complete", "--", ...words], { env: { XDG_CONFIG_HOME: open } });
    assert.deepEqual([code, stdout, stderr], [0, "", ""], words.join(" "));
  }
});
