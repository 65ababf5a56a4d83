// GANTRY_AUDIT_TARGETS: the file of audit targets.
//
//   {"targets": [
//     {"name": "archive", "file": "/var/log/gantry/audit.jsonl"},
//     {"name": "siem", "syslog": "tls://logs.example.com:6514", "certificateFile": "/etc/gantry/siem.pem", "keyFile": "/etc/gantry/siem.key"},
//     {"name": "lake", "http": "https://logs.example.com/ingest", "body": "array", "authorizationFile": "/etc/gantry/lake"}]}

import { readFile } from "node:fs/promises";
import { isAbsolute } from "node:path";
import { Fault } from "#base/fault.ts";
import { isObject, type Json, type JsonObject, jsonProblem } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { refusedAddress } from "#base/refused-address.ts";

interface FileTarget {
  readonly kind: "file";
  readonly name: string;
  readonly path: string;
}

export interface CertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

interface SyslogTarget {
  readonly kind: "syslog";
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** Client certificate in PEM files; read per batch. */
  readonly shown: CertificateFiles | undefined;
}

interface HttpTarget {
  readonly kind: "http";
  readonly name: string;
  readonly url: string;
  /** JSON lines, or one JSON array. */
  readonly body: "lines" | "array";
  /** File with the Authorization header's value; read per batch. */
  readonly authorizationFile: string | undefined;
}

export type AuditTarget = FileTarget | SyslogTarget | HttpTarget;

const targetsFault = (reason: string): Fault => new Fault("FAILED_PRECONDITION", `GANTRY_AUDIT_TARGETS ${reason}`);

const nameForm = /^[a-z0-9][a-z0-9-]{0,39}$/;

const refuseOtherKeys = (name: string, value: JsonObject, known: readonly string[]): void => {
  for (const key of Object.keys(value))
    if (!known.includes(key)) throw targetsFault(`has the unknown key ${JSON.stringify(key)} in target ${name}; must be one of ${known.join(", ")}`);
};

const readPath = (name: string, what: string, value: Json | undefined): string => {
  if (typeof value !== "string" || !isAbsolute(value) || value.endsWith("/") || value.includes("\0"))
    throw targetsFault(`must have an absolute path in "${what}" of target ${name}, not ${JSON.stringify(value)}`);
  return value;
};

const readShown = (name: string, secure: boolean, { certificateFile, keyFile }: JsonObject): CertificateFiles | undefined => {
  if (certificateFile === undefined && keyFile === undefined) return undefined;
  if (!secure || certificateFile === undefined || keyFile === undefined)
    throw targetsFault(`must have both "certificateFile" and "keyFile" in target ${name}, and only with tls://`);
  return { certificateFile: readPath(name, "certificateFile", certificateFile), keyFile: readPath(name, "keyFile", keyFile) };
};

const readSyslog = (name: string, target: JsonObject): SyslogTarget => {
  const value = target.syslog;
  const refusal = (): Fault => targetsFault(`must have tls://HOST:PORT or tcp://HOST:PORT in "syslog" of target ${name}${refusedAddress(value)}`);
  const [, protocol, authority = ""] = /^(tls|tcp):\/\/([^/?#@]+)$/.exec(typeof value === "string" ? value : "") ?? [];
  // Parsed as an http URL, which validates the host.
  const url = protocol === undefined ? null : URL.parse(`http://${authority}`);
  const port = Number(/:(\d{1,5})$/.exec(authority)?.[1]);
  if (!url || !(port >= 1 && port <= 65_535)) throw refusal();
  const secure = protocol === "tls";
  return { kind: "syslog", name, host: url.hostname, port, secure, shown: readShown(name, secure, target) };
};

const readHttp = (name: string, value: JsonObject): HttpTarget => {
  const { http, body = "lines", authorizationFile } = value;
  const url = typeof http === "string" ? URL.parse(http) : null;
  if (!url || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "" || url.hash !== "")
    throw targetsFault(`must have an http or https URL without user and fragment in "http" of target ${name}${refusedAddress(http)}`);
  if (body !== "lines" && body !== "array") throw targetsFault(`must have lines or array in "body" of target ${name}, not ${JSON.stringify(body)}`);
  return {
    kind: "http",
    name,
    url: url.href,
    body,
    authorizationFile: authorizationFile === undefined ? undefined : readPath(name, "authorizationFile", authorizationFile),
  };
};

const readTarget = (value: Json): AuditTarget => {
  if (!isObject(value) || typeof value.name !== "string" || !nameForm.test(value.name))
    throw targetsFault('must contain targets, each with a "name" of lowercase letters, digits and hyphens');
  const { name } = value;
  const kinds = ["file", "syslog", "http"].filter((kind) => value[kind] !== undefined);
  if (kinds.length !== 1) throw targetsFault(`must have one of file, syslog and http in target ${name}`);
  if (kinds[0] === "file") {
    refuseOtherKeys(name, value, ["name", "file"]);
    return { kind: "file", name, path: readPath(name, "file", value.file) };
  }
  if (kinds[0] === "syslog") {
    refuseOtherKeys(name, value, ["name", "syslog", "certificateFile", "keyFile"]);
    return readSyslog(name, value);
  }
  refuseOtherKeys(name, value, ["name", "http", "body", "authorizationFile"]);
  return readHttp(name, value);
};

/** Parses the file's text. Throws a one-line Fault. */
export const readTargets = (json: string): AuditTarget[] => {
  let file: Json;
  try {
    file = JSON.parse(json) as Json;
  } catch (cause) {
    throw targetsFault(`must contain JSON: ${jsonProblem(cause)}`);
  }
  if (!isObject(file) || !Array.isArray(file.targets)) throw targetsFault('must be an object with a list "targets"');
  if (file.targets.length > limits.auditTargetsMax) throw targetsFault(`names more than ${limits.auditTargetsMax} targets`);
  const targets = file.targets.map(readTarget);
  const names = targets.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw targetsFault(`names the target ${twice} twice`);
  const paths = targets.flatMap((target) => (target.kind === "file" ? [target.path] : []));
  if (new Set(paths).size < paths.length) throw targetsFault("writes two targets into one file");
  return targets;
};

/** Reads the file. Throws a one-line Fault. */
export const readTargetsFile = async (path: string): Promise<AuditTarget[]> => {
  let json: string;
  try {
    json = await readFile(path, "utf8");
  } catch (error) {
    throw targetsFault(`must name a readable file: ${error instanceof Error ? error.message : path}`);
  }
  return readTargets(json);
};
