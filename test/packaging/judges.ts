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

/** Docker Compose's own loader, as a program. */
const openComposeLoader = (): Judge => {
  const program = join(cache, "cmd");
  const module = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2";
  if (existsSync(program)) return { program, missing: false };
  const { status } = spawnSync("go", ["install", module], { env: { ...process.env, GOBIN: cache }, timeout: 300_000 });
  return { program, missing: status === 0 ? false : "NOT TESTED: the loader of compose files needs Go and its modules, and they are not here" };
};

export const composeLoader = openComposeLoader();

/** A program as it is installed here, or built from its modules if they are at hand: a build from nothing would take CI too long. */
const findGoProgram = (name: string, packagePath: string, version: readonly string[]): Judge => {
  if (spawnSync(name, version).status === 0) return { program: name, missing: false };
  const program = join(cache, name);
  if (existsSync(program)) return { program, missing: false };
  // Another test file may build it at the same time, or run it.
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, `${name}-`));
  // Without the clients of clouds, which promtool does not need for rules.
  const { status } = spawnSync("go", ["install", "-tags", "remove_all_sd", packagePath], { env: { ...process.env, GOBIN: folder }, timeout: 60_000 });
  if (status === 0) renameSync(join(folder, name), program);
  rmSync(folder, { recursive: true, force: true });
  return { program, missing: status === 0 ? false : `NOT TESTED: ${name} is not installed here, and cannot be built from its Go modules within a minute` };
};

export const helm = findGoProgram("helm", "helm.sh/helm/v3/cmd/helm@v3.22.0", ["version"]);
export const promtool = findGoProgram("promtool", "github.com/prometheus/prometheus/cmd/promtool@v0.316.0", ["--version"]);
export const kubeconform = findGoProgram("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0", ["-v"]);

const schemas = join(import.meta.dirname, "../fixtures/kubernetes-schemas");

/** Checks manifests against the schemas in test/fixtures. Unknown fields and kinds are errors. */
export const checkKubernetes = (manifests: string): { readonly status: number | null; readonly output: string } => {
  const location = join(schemas, "{{.ResourceKind}}{{.KindSuffix}}.json");
  const { status, stdout, stderr } = spawnSync(kubeconform.program, ["-strict", "-schema-location", location, "-"], { input: manifests, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
};

export const systemdAnalyze: Judge = {
  program: "systemd-analyze",
  missing: spawnSync("systemd-analyze", ["--version"]).status === 0 ? false : "NOT TESTED: systemd is not installed here",
};
