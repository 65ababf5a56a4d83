// Version 1 as the public platform has it (test/public/version-1.txt) beside the contract's: what is served is the same, name by
// name and number by number; what is not stands in test/golden/version-1.txt, with the reason.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { files, methodByName } from "#contract/catalog.ts";
import { resources } from "../server/resources/index.ts";

const allInOne = new Map(files.flatMap((file) => file.services.map((service) => [service.typeName, service] as const)));
const [messages, enums] = [new Map<string, DescMessage>(), new Map<string, DescEnum>()];
const addMessage = (message: DescMessage): void => {
  messages.set(message.typeName, message);
  for (const nested of message.nestedEnums) enums.set(nested.typeName, nested);
  message.nestedMessages.forEach(addMessage);
};
for (const file of files) {
  file.messages.forEach(addMessage);
  for (const declared of file.enums) enums.set(declared.typeName, declared);
}

const scalars = ["", "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "", "", "bytes", "uint32"];

const lastOf = (name: string): string => name.split(".").at(-1) ?? "";

const typeOf = (field: DescField): string => {
  if (field.fieldKind === "map")
    return `map<${scalars[field.mapKey]},${lastOf(field.message?.typeName ?? field.enum?.typeName ?? scalars[field.scalar ?? 0] ?? "")}>`;
  const single = lastOf(field.message?.typeName ?? field.enum?.typeName ?? scalars[field.scalar ?? 0] ?? "");
  return `${field.fieldKind === "list" ? "repeated-" : field.proto.proto3Optional ? "optional-" : ""}${single}`;
};

/** Where the contract pins another JSON name than the usual one. */
const pinnedName = ({ name, jsonName }: DescField): string =>
  jsonName === name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) ? "" : `[json\`${jsonName}\`]`;

/** A message as the public list writes it; fields of ours are none of its. */
const fieldsOf = (message: DescMessage): string[] =>
  message.fields
    .filter(({ number }) => number < 1000)
    .map((field) => `${field.name}=${field.number}:${typeOf(field)}${pinnedName(field)}${field.oneof ? `/${field.oneof.name}` : ""}`)
    .sort();

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
  readonly messages: string[];
  readonly enums: string[];
}

/** The public services of this list, in their order. */
const publicServices = (list: string): Service[] => {
  const found: Service[] = [];
  for (const line of readFileSync(join(import.meta.dirname, "public", list), "utf8")
    .replaceAll("\n    ", " ")
    .split("\n")) {
    const [kind = "", ...rest] = line.trim().split(" ");
    if (kind === "service") found.push({ name: rest[0] ?? "", rpcs: [], messages: [], enums: [] });
    else if (kind === "rpc") found.at(-1)?.rpcs.push(rest.join(" "));
    else if (kind === "message") found.at(-1)?.messages.push(rest.join(" "));
    else if (kind === "enum") found.at(-1)?.enums.push(rest.join(" "));
  }
  return found;
};

const noBuilds = "needs a build service";
const imported = "advisories come with imports";
const noOperation = "no operation has it";

/** Declared, and answered: a shape of what version 2 has, or by a method of its own. */
const isAnswered = (name: string): boolean => {
  const method = methodByName(name);
  const rpc = name.split("/")[1] ?? "";
  return method?.view !== undefined || resources.some(({ operations, methods = {} }) => operations.some((each) => each.name === name) && rpc in methods);
};

/** Why an operation, or all of a service, is not served; a message, that it is not there. */
const reasons: Readonly<Record<string, string>> = {
  "chainguard.platform.iam.GroupInvites/CreateWithGroup": "nothing public says what group it makes",
  "chainguard.platform.events.Identities/Create": "makes an identity that lies in no group: here each has one, and no path of this one names it",
  "chainguard.platform.registry.Registry/GetHelm": noBuilds,
  "chainguard.platform.registry.Registry/GetChart": noBuilds,
  "chainguard.platform.registry.Registry/ListChartsByImageRepo": noBuilds,
  "chainguard.platform.registry.Registry/GetBuildStatus": noBuilds,
  "chainguard.platform.registry.Registry/GetUpdateStatus": noBuilds,
  "chainguard.platform.registry.Registry/GetSyncStatus": noBuilds,
  "chainguard.platform.registry.Registry/ListSyncStatuses": noBuilds,
  "chainguard.platform.tenant.VulnReportList": noOperation,
  "chainguard.platform.tenant.VulnReportFilter": noOperation,
  "chainguard.platform.vulnerabilities.v1.Advisories/Create": imported,
  "chainguard.platform.vulnerabilities.v1.Advisories/Update": imported,
  "chainguard.platform.vulnerabilities.v1.Advisories/Delete": imported,
  "chainguard.platform.vulnerabilities.v1.Advisories/CreateAdvisoryEvent": imported,
  "chainguard.platform.vulnerabilities.v1.Advisories/UpdateAdvisoryEvent": imported,
  "chainguard.platform.vulnerabilities.v1.Advisories/ListAdvisoryEvents": "List shows each advisory with its events",
  "chainguard.platform.vulnerabilities.v1.CreateAdvisoryRequest": imported,
  "chainguard.platform.vulnerabilities.v1.DeleteAdvisoryRequest": imported,
  "chainguard.platform.vulnerabilities.v1.CreateAdvisoryEventRequest": imported,
  "chainguard.platform.vulnerabilities.v1.AdvisoryEventFilter": "of ListAdvisoryEvents alone",
  "chainguard.platform.vulnerabilities.v1.AdvisoryEventList": "of ListAdvisoryEvents alone",
  "chainguard.platform.libraries.Entitlements": noBuilds,
  "chainguard.platform.iam.RegistrationRequest": noOperation,
  "chainguard.platform.iam.RegistrationRequest.Human": noOperation,
  "chainguard.platform.iam.RegistrationRequest.Cluster": noOperation,
  "chainguard.platform.auth.DeletionRequest": "is called DeleteRequest here, which is on no wire",
  "chainguard.platform.auth.Profile": "stands within WhoAmI here, with the same numbers",
  "chainguard.platform.events.Identity": "of events.Identities/Create alone",
};

/** Where the contract says it otherwise, and why. */
const different: Readonly<Record<string, string>> = {
  "chainguard.platform.advisory.SecurityAdvisory/ListDocuments": "a filter that names a group asks for advisories.list there",
  "chainguard.platform.advisory.SecurityAdvisory/ListVulnerabilityMetadata": "a filter that names a group asks for advisories.list there",
  "chainguard.platform.auth.Auth/Delete": "its request is called DeleteRequest here, which is on no wire",
};

/** Of a message or enum beside a service: in the service's package, or in another one that is named before it ("tenant.Fix"). */
const nameBeside = (service: string, name: string): string => {
  const within = service.replace(/\.\w+$/, "");
  return /^[a-z]/.test(name) ? `chainguard.platform.${name}` : `${within}.${name}`;
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
    for (const message of service.messages) {
      const [name = "", ...fields] = message.split(" ");
      const ours = messages.get(nameBeside(service.name, name));
      if (!ours) missing.push([`  ${name}`, "", reasonOf(nameBeside(service.name, name))]);
      else assert.deepEqual(fieldsOf(ours), [...fields].sort(), ours.typeName);
    }
    for (const declared of service.enums) {
      const [name = "", ...values] = declared.split(" ");
      const ours = enums.get(nameBeside(service.name, name));
      if (!ours) {
        missing.push([`  ${name}`, "", reasonOf(nameBeside(service.name, name))]);
        continue;
      }
      assert.deepEqual(
        ours.values.map((value) => `${value.name}=${value.number}`),
        values,
        name,
      );
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

test("what the public platform has under v2beta1 alone is all served, name by name and number by number", () => {
  const services = publicServices("version-2-beta.txt");
  assert.deepEqual(
    services.map(({ rpcs }) => rpcs.length),
    [4, 4, 12],
  );
  for (const service of services) {
    for (const rpc of service.rpcs) assert.equal(operationOf(`${service.name}/${rpc.split(" ")[0]}`, rpc), rpc);
    for (const message of service.messages) {
      const [name = "", ...fields] = message.split(" ");
      assert.deepEqual(fieldsOf(messages.get(nameBeside(service.name, name)) ?? assert.fail(`${name} is missing`)), fields.sort(), name);
    }
    for (const declared of service.enums) {
      const [name = "", ...values] = declared.split(" ");
      assert.deepEqual(
        enums.get(nameBeside(service.name, name))?.values.map((value) => `${value.name}=${value.number}`),
        values,
        name,
      );
    }
  }
});
