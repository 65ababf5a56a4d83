// The operations of version 1 as the public platform has them (test/public/version-1.txt), with their capabilities. What is not served
// is in test/golden/version-1.txt, with the reason. Messages and numbers: test/golden-public-descriptors.test.ts.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { methodByName } from "#contract/catalog.ts";
import { files } from "#contract/descriptors.ts";
import { resources } from "../server/resources/index.ts";

const allInOne = new Map(files.flatMap((file) => file.services.map((service) => [service.typeName, service] as const)));
/** An operation as the public list writes it; of several paths the one that it has there. */
const operationOf = (name: string, publicly: string): string | undefined => {
  const method = methodByName(name);
  if (!method) return undefined;
  const http = method.http.find(({ verb, template }) => publicly.includes(`${verb} ${template} `)) ?? method.http[0];
  const path = http ? `${http.verb} ${http.template} ${http.body === "" ? "-" : (method.input.byName.get(http.body)?.name ?? http.body)}` : "none - -";
  return `${method.rpc} ${path} ${method.capabilities.join("+") || "-"} ${method.input.short} ${method.output.short}`;
};

interface Service {
  readonly name: string;
  readonly rpcs: string[];
}

/** The public services of this list, in their order. */
const publicServices = (list: string): Service[] => {
  const found: Service[] = [];
  for (const line of readFileSync(join(import.meta.dirname, "public", list), "utf8")
    .replaceAll("\n    ", " ")
    .split("\n")) {
    const [kind = "", ...rest] = line.trim().split(" ");
    if (kind === "service") found.push({ name: rest[0] ?? "", rpcs: [] });
    else if (kind === "rpc") found.at(-1)?.rpcs.push(rest.join(" "));
  }
  return found;
};

const noBuilds = "needs a build service";
const unreadCharts = "charts that were pushed are stored, and not read";

/** Declared, and answered: a shape of what version 2 has, or by a method of its own. */
const isAnswered = (name: string): boolean => {
  const method = methodByName(name);
  const rpc = name.split("/")[1] ?? "";
  return method?.view !== undefined || resources.some(({ operations, methods = {} }) => operations.some((each) => each.name === name) && rpc in methods);
};

/** Why an operation, or all of a service, is not served. */
const reasons: Readonly<Record<string, string>> = {
  "chainguard.platform.iam.GroupInvites/CreateWithGroup": "nothing public says how the group is named; create the organization, then the invite",
  "chainguard.platform.events.Identities/Create": "makes an identity that lies in no group: here each has one, and no path of this one names it",
  "chainguard.platform.registry.Registry/GetHelm": unreadCharts,
  "chainguard.platform.registry.Registry/GetChart": unreadCharts,
  "chainguard.platform.registry.Registry/ListChartsByImageRepo": unreadCharts,
  "chainguard.platform.registry.Registry/GetBuildStatus": noBuilds,
  "chainguard.platform.registry.Registry/GetUpdateStatus": noBuilds,
  "chainguard.platform.libraries.Entitlements": "entitlements to the vendor's catalog: an organization owns its images here",
};

/** Where the contract says it otherwise, and why. */
const different: Readonly<Record<string, string>> = {
  "chainguard.platform.advisory.SecurityAdvisory/ListDocuments": "a filter that names a group asks for advisories.list there",
  "chainguard.platform.advisory.SecurityAdvisory/ListVulnerabilityMetadata": "a filter that names a group asks for advisories.list there",
};

test("what is served of version 1 is what the public platform has; what is missing is listed with its reason (test/golden/version-1.txt)", () => {
  const rows: string[][] = [];
  const used = new Set<string>();
  const reasonOf = (name: string): string => {
    used.add(name);
    return reasons[name] ?? assert.fail(`${name} is missing, and nothing says why`);
  };
  for (const service of publicServices("version-1.txt")) {
    if (!allInOne.has(service.name)) {
      rows.push([service.name, `0 of ${service.rpcs.length}`, reasonOf(service.name)]);
      continue;
    }
    const missing: string[][] = [];
    for (const rpc of service.rpcs) {
      const name = `${service.name}/${rpc.split(" ")[0]}`;
      const ours = operationOf(name, rpc);
      if (ours === undefined || !isAnswered(name)) missing.push([`  ${rpc.split(" ")[0]}`, "", reasonOf(name)]);
      if (ours === undefined) continue;
      if (different[name] !== undefined) used.add(name);
      else assert.equal(ours, rpc);
    }
    const served = service.rpcs.length - missing.filter(([name = ""]) => service.rpcs.some((rpc) => rpc.startsWith(`${name.trim()} `))).length;
    rows.push([service.name, `${served} of ${service.rpcs.length}`, ""], ...missing);
  }
  for (const [name, why] of Object.entries(different)) rows.push([name, "differs", why]);
  assert.deepEqual([...used].sort(), [...Object.keys(reasons), ...Object.keys(different)].sort(), "every reason is of something that is missing");
  const head = ["OF VERSION 1", "SERVED", "WHAT IS MISSING OR DIFFERS, AND WHY"];
  const lines = [head, ...rows].map(([name = "", count = "", why = ""]) => `${name.padEnd(74)}  ${count.padEnd(8)}  ${why}`.trimEnd());
  const text = `${lines.join("\n")}\n`;
  const path = join(import.meta.dirname, "golden", "version-1.txt");
  if (process.env.GANTRY_GOLDEN === "accept") writeFileSync(path, text);
  assert.equal(readFileSync(path, "utf8"), text, "test/golden/version-1.txt is not what the contract has now. If that is meant:  npm run golden");
});

test("docs/reference/version-1.md lists every public operation that is not served, with the reason, and none that is", () => {
  const exceptions: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(import.meta.dirname, "../contract/public-exceptions.json"), "utf8"));
  const listed = new Map(Object.entries(reasons));
  // Of a whole service, and of what the contract does not declare. What differs only by its path is served.
  for (const [name, why] of Object.entries(exceptions)) {
    const [, operation] = /^method (\S+)$/.exec(name) ?? [];
    const service = operation?.replace(/\/\*$/, "");
    if (service !== undefined && !listed.has(service)) listed.set(service, why);
  }
  const rows = [...listed].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, why]) => `| \`${name}\` | ${why} |`);
  const table = ["| Operation, or service | Reason |", "|---|---|", ...rows].join("\n");
  const path = join(import.meta.dirname, "../docs/reference/version-1.md");
  const page = readFileSync(path, "utf8");
  const start = page.indexOf("| Operation, or service |");
  const end = page.indexOf("\n\n", start);
  assert.ok(start > 0 && end > start, "the page has no table of operations that are not served");
  const found = page.slice(start, end);
  if (process.env.GANTRY_GOLDEN === "accept")
    writeFileSync(
      path,
      page.replace(found, () => table),
    );
  else assert.equal(found, table, "docs/reference/version-1.md is not what the contract has now. If that is meant:  npm run golden");
});

test("every operation that the public platform has under v2beta1 alone is served, with its path and capabilities", () => {
  const services = publicServices("version-2-beta.txt");
  assert.deepEqual(
    services.map(({ rpcs }) => rpcs.length),
    [4, 4, 12],
  );
  for (const service of services) {
    for (const rpc of service.rpcs) assert.equal(operationOf(`${service.name}/${rpc.split(" ")[0]}`, rpc), rpc);
  }
});
