// Third-party programs that check the files of deploy/, found or installed once in their own directories. If one is unavailable, its test is
// skipped with the reason.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const cache = join(import.meta.dirname, "../../node_modules/.cache/packaging");
const python = join(cache, "python");

interface Judge {
  readonly program: string;
  /** Why it is missing; false if it is available. */
  readonly missing: string | false;
}

const ofPython = (name: string): Judge => {
  const program = join(python, "bin", name);
  const install = (): string | false => {
    if (existsSync(program)) return false;
    if (spawnSync("python3", ["-m", "venv", python]).status !== 0) return "NOT TESTED: python3 with venv is not here";
    const pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement", join(import.meta.dirname, "requirements.txt")];
    return spawnSync(join(python, "bin/python"), pip, { timeout: 120_000 }).status === 0 ? false : `NOT TESTED: ${name} cannot be installed`;
  };
  return { program, missing: install() };
};

export const hadolint = ofPython("hadolint");
export const kubernetesValidate = ofPython("kubernetes-validate");

/** Docker Compose's own loader, as a program. */
const openComposeLoader = (): Judge => {
  const program = join(cache, "cmd");
  const module = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";
  if (existsSync(program)) return { program, missing: false };
  const { status } = spawnSync("go", ["install", module], { env: { ...process.env, GOBIN: cache }, timeout: 300_000 });
  return { program, missing: status === 0 ? false : "NOT TESTED: the loader of compose files needs Go and its modules, and they are not here" };
};

export const composeLoader = openComposeLoader();

/** Helm as it is installed here, or built from its modules if they are at hand: a build from nothing would take CI too long. */
const findHelm = (): Judge => {
  if (spawnSync("helm", ["version"]).status === 0) return { program: "helm", missing: false };
  const program = join(cache, "helm");
  if (existsSync(program)) return { program, missing: false };
  // Another test file may build it at the same time, or run it.
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "helm-"));
  const { status } = spawnSync("go", ["install", "helm.sh/helm/v3/cmd/helm@v3.22.0"], { env: { ...process.env, GOBIN: folder }, timeout: 60_000 });
  if (status === 0) renameSync(join(folder, "helm"), program);
  rmSync(folder, { recursive: true, force: true });
  return { program, missing: status === 0 ? false : "NOT TESTED: helm is not installed here, and cannot be built from its Go modules within a minute" };
};

export const helm = findHelm();

export const systemdAnalyze: Judge = {
  program: "systemd-analyze",
  missing: spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "NOT TESTED: systemd is not installed here",
};
