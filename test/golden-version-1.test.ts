// Operations of version 1 with their capabilities, as on the public platform (test/public/version-1.txt).
// test/golden/version-1.txt has those not served, with reasons. Messages and numbers: test/golden-public-descriptors.test.ts.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { methodByName } from "#contract/catalog.ts";
import { files } from "#contract/descriptors.ts";
import { resources } from "../server/application/resources.ts";
import { readFacts } from "./public-descriptors.ts";

const allInOne = new Map(files.flatMap((file) => file.services.map((service) => [service.typeName, service] as const)));
/** Returns an operation in the form of the public list, with the path used there. */
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

/** Returns true if the operation is served, as a view of version 2 or by its own method. */
const isAnswered = (name: string): boolean => {
  const method = methodByName(name);
  const rpc = name.split("/")[1] ?? "";
  return method?.view !== undefined || resources.some(({ operations, methods = {} }) => operations.some((each) => each.name === name) && rpc in methods);
};

const reasons: Readonly<Record<string, string>> = {
  "chainguard.platform.events.Identities/Create": "makes an identity that lies in no group: here each has one, and no path of this one names it",
  "chainguard.platform.registry.Registry/GetBuildStatus": noBuilds,
  "chainguard.platform.registry.Registry/GetUpdateStatus": noBuilds,
  "chainguard.platform.libraries.Entitlements": "entitlements to the vendor's catalog: an organization owns its images here",
};

const different: Readonly<Record<string, string>> = {
  "chainguard.platform.iam.GroupInvites/CreateWithGroup": "has a path for REST besides; the operator alone may call it",
  "chainguard.platform.advisory.SecurityAdvisory/ListDocuments": "a filter that names a group asks for advisories.list there",
  "chainguard.platform.advisory.SecurityAdvisory/ListVulnerabilityMetadata": "a filter that names a group asks for advisories.list there",
};

test("version 1 serves what the public platform has; missing operations are listed with reasons in test/golden/version-1.txt", () => {
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

/** Operations added after the first version, with their version. */
const servedSince: Readonly<Record<string, string>> = {};
const firstVersion = "0.1.0";

const versionOf = (service: string): number => (/\.v2(?:beta1)?\./.test(service) ? 2 : 1);

const isServed = (name: string): boolean => {
  const method = methodByName(name);
  if (!method) return false;
  // Generic verbs of version 2 are bound at the start.
  return versionOf(name) === 2 ? resources.some(({ operations }) => operations.some((each) => each.name === method.name)) : isAnswered(name);
};

test("docs/reference/compatibility.md lists every public operation, with its deviation or the reason why it is not served", () => {
  const exceptions: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(import.meta.dirname, "../contract/public-exceptions.json"), "utf8"));
  const exceptionFor = (subject: string): string | undefined => {
    const key = Object.keys(exceptions).find((each) => (each.endsWith("*") ? subject.startsWith(each.slice(0, -1)) : each === subject));
    return key === undefined ? undefined : exceptions[key];
  };
  const facts = [...readFacts(readFileSync(join(import.meta.dirname, "../contract/public-descriptors.txt"), "utf8")).keys()];
  const operations = facts.filter((subject) => subject.startsWith("method ")).map((subject) => subject.slice("method ".length));
  assert.ok(operations.length > 300);
  const rows: string[] = [];
  let served = 0;
  for (const [service, names] of Map.groupBy(operations, (name) => name.split("/")[0] ?? "")) {
    const rpcs = names.map((name) => ({ name, rpc: name.split("/")[1] ?? "", isServed: isServed(name) }));
    served += rpcs.filter((each) => each.isServed).length;
    const missing = rpcs.filter((each) => !each.isServed);
    const reasonOf = (name: string): string =>
      reasons[name] ?? reasons[service] ?? exceptionFor(`method ${name}`) ?? assert.fail(`${name} is not served, and nothing says why`);
    const about = [
      ...[...Map.groupBy(missing, ({ name }) => reasonOf(name))].map(([why, each]) => `${each.map(({ rpc }) => rpc).join(", ")}: ${why}`),
      ...rpcs.flatMap(({ name, rpc, isServed: isThere }) => {
        const deviation = isThere ? (different[name] ?? exceptionFor(`method ${name} http`)) : undefined;
        const since = servedSince[name];
        return [...(deviation === undefined ? [] : [`${rpc}: ${deviation}`]), ...(since === undefined ? [] : [`${rpc}: since ${since}`])];
      }),
    ];
    const answered = rpcs.filter((each) => each.isServed).map(({ rpc }) => rpc);
    rows.push(`| \`${service.replace("chainguard.platform.", "")}\` | ${answered.join(", ") || "–"} | ${about.join("; ") || "–"} |`);
  }
  const intro = `${served} of ${operations.length} public operations are served, all of them since ${firstVersion} unless the table says otherwise.`;
  const table = [intro, "", "| Service | Served | Not served, and why; deviations |", "|---|---|---|", ...rows].join("\n");
  const path = join(import.meta.dirname, "../docs/reference/compatibility.md");
  const page = readFileSync(path, "utf8");
  const start = page.search(/^\d+ of \d+ public operations/m);
  assert.ok(start > 0, "the page has no table of public operations");
  const found = page.slice(start).trimEnd();
  if (process.env.GANTRY_GOLDEN === "accept")
    writeFileSync(
      path,
      page.replace(found, () => table),
    );
  else assert.equal(found, table, "docs/reference/compatibility.md is not what the contract has now. If that is meant:  npm run golden");
});

test("every operation that is public only under v2beta1 is served with its path and capabilities", () => {
  const services = publicServices("version-2-beta.txt");
  assert.deepEqual(
    services.map(({ rpcs }) => rpcs.length),
    [4, 4, 12],
  );
  for (const service of services) {
    for (const rpc of service.rpcs) assert.equal(operationOf(`${service.name}/${rpc.split(" ")[0]}`, rpc), rpc);
  }
});
