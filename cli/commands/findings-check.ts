// `gantry findings check`: fail a pipeline by the findings in an image.

import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { version } from "#application";
import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, objectList, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { methodByName } from "#contract/catalog.ts";
import type { Client } from "#contract-client";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { readDuration } from "../duration.ts";
import { exitStatus, exitStatusText, wrongUsage } from "../exit-status.ts";
import { sarifOf, severityOf, vulnerabilityOf } from "../findings-sarif.ts";
import { findOrganizationName, pathIn, readNamedImage } from "../named-image.ts";
import { onOneLine, printableJson } from "../output/escape.ts";
import { openProgressBar } from "../progress-bar.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly failOn?: string;
  readonly output?: string;
  readonly timeout: string;
  readonly server?: string;
  readonly context?: string;
}

const outputs = ["table", "json", "sarif"];

/** The least severe first. */
const severities = ["negligible", "low", "medium", "high", "critical"];

type Condition = (finding: JsonObject) => boolean;

const conditionOf = (word: string, overdue: ReadonlySet<string>): Condition | undefined => {
  const rank = severities.indexOf(word);
  if (rank >= 0) return (finding) => severities.indexOf(severityOf(finding)) >= rank;
  if (word === "exploited") return (finding) => finding.exploited === true;
  if (word === "fixable") return (finding) => text(finding, "fixState") === "FINDING_FIX_STATE_FIXABLE";
  if (word === "overdue") return (finding) => overdue.has(text(finding, "uid"));
  return undefined;
};

interface Policy {
  fails(finding: JsonObject): boolean;
  /** Conditions need the uids of overdue findings. */
  readonly asksOverdue: boolean;
  readonly failsOnUnknown: boolean;
  readonly failsOnEndOfLife: boolean;
}

/** Conditions on the image, not on a finding. */
const imageConditions = new Set(["unknown", "eol"]);

/**
 * Parses "high+fixable,exploited,eol,unknown": one of the conditions suffices; those joined by "+" apply together.
 * @param overdue uids of overdue findings, filled before the policy is applied
 */
const readPolicy = (given: string, overdue: ReadonlySet<string>): Policy => {
  const conditions: Condition[][] = [];
  const entries = given.split(",").map((each) => each.trim().toLowerCase());
  for (const entry of entries) {
    if (imageConditions.has(entry)) continue;
    conditions.push(
      entry.split("+").map((word) => {
        const condition = conditionOf(word, overdue);
        if (condition === undefined)
          throw wrongUsage(
            `--fail-on must be a list of ${[...severities].reverse().join(", ")}, exploited, fixable, overdue, eol and unknown, not ${JSON.stringify(word)}`,
          );
        return condition;
      }),
    );
  }
  return {
    fails: (finding) => conditions.some((all) => all.every((condition) => condition(finding))),
    asksOverdue: entries.some((entry) => entry.split("+").includes("overdue")),
    failsOnUnknown: entries.includes("unknown"),
    failsOnEndOfLife: entries.includes("eol"),
  };
};

const list = methodByName("gantry.findings.v1.FindingsService/ListFindings");

const findPage = (client: Client, image: string, pageToken: string, filter: JsonObject = {}): Promise<JsonObject> => {
  if (list === undefined) throw new Error("the contract has no ListFindings");
  return client.call(list, { images: [image], orderBy: "severity desc", pageSize: 200, ...filter, ...(pageToken === "" ? {} : { pageToken }) });
};

const isPending = (reply: JsonObject): boolean => objectList(part(reply, "summary"), "images").some(({ pending }) => pending === true);

/** Waits until the image is read and matched. Throws DEADLINE_EXCEEDED if that takes too long. */
const waitForImage = async (terminal: Terminal, client: Client, image: string, timeoutMs: number): Promise<JsonObject> => {
  const bar = openProgressBar(terminal.err, { lines: true });
  const startMs = performance.now();
  try {
    for (;;) {
      const reply = await findPage(client, image, "");
      if (!isPending(reply)) return reply;
      const waitedMs = performance.now() - startMs;
      if (waitedMs > timeoutMs) throw new Fault("DEADLINE_EXCEEDED", `${image} is not indexed yet. Try again later, or wait longer with --timeout`);
      bar.update({ done: Math.round(waitedMs / 1000), total: 0, what: "s: Gantry is reading the image" });
      await sleep(limits.findingsWaitMs);
    }
  } finally {
    bar.end();
  }
};

const findAll = async (client: Client, image: string, first: JsonObject, filter: JsonObject = {}): Promise<JsonObject[]> => {
  const all = objectList(first, "findings");
  for (let token = text(first, "nextPageToken"); token !== ""; ) {
    const reply = await findPage(client, image, token, filter);
    all.push(...objectList(reply, "findings"));
    token = text(reply, "nextPageToken");
  }
  return all;
};

/** Says what no source judges in the image. */
const unknownOf = (reply: JsonObject): string[] =>
  objectList(part(reply, "summary"), "images").flatMap((image) =>
    objectList(image, "unjudged").map((each) => {
      const name = [text(each, "ecosystem"), text(each, "release")].filter((word) => word !== "").join(" ");
      const state = text(each, "state")
        .replace(/^COVERAGE_STATE_/, "")
        .toLowerCase()
        .replaceAll("_", " ");
      return name === "unknown" ? "some layers or packages of the image were not read" : `packages of ${name} are not judged: ${state}`;
    }),
  );

interface NamedSystem {
  readonly platforms: readonly string[];
  readonly name: string;
  /** "supported", "ended" or "unknown". */
  readonly state: string;
  /** "" if no day is known. */
  readonly endDate: string;
}

/** Returns the operating systems of the image's platforms, each once. */
const systemsOf = (reply: JsonObject): NamedSystem[] => {
  const systems = objectList(part(reply, "summary"), "images").flatMap((image) =>
    objectList(image, "platforms").flatMap((platform): NamedSystem[] => {
      const { operatingSystem } = platform;
      if (!isObject(operatingSystem)) return [];
      const version = text(operatingSystem, "version");
      const state = text(operatingSystem, "endOfLifeState").replace(/^END_OF_LIFE_STATE_/, "");
      return [
        {
          platforms: [text(platform, "platform")].filter((name) => name !== ""),
          name: text(operatingSystem, "name") || [text(operatingSystem, "id"), version].filter((word) => word !== "").join(" "),
          state: state.toLowerCase(),
          endDate: text(operatingSystem, "endOfLifeDate"),
        },
      ];
    }),
  );
  return [...Map.groupBy(systems, ({ name, state, endDate }) => JSON.stringify([name, state, endDate])).values()].flatMap((same) => {
    const [first] = same;
    return first ? [{ ...first, platforms: [...new Set(same.flatMap(({ platforms }) => platforms))].sort() }] : [];
  });
};

const endTextOf = ({ state, endDate }: NamedSystem): string => {
  if (state === "ended") return `ended${endDate === "" ? "" : ` on ${endDate}`}`;
  if (state === "supported") return endDate === "" ? "supported" : `supported until ${endDate}`;
  return "unknown: no imported lifecycle names the release";
};

const systemText = (system: NamedSystem): string => {
  const platforms = system.platforms.length === 0 ? "" : ` (${system.platforms.join(", ")})`;
  return `end of life: ${system.name}${platforms}: ${endTextOf(system)}`;
};

const tableOf = (findings: readonly JsonObject[], policy: Pick<Policy, "fails">): string =>
  formatTable([
    ["FAILS", "SEVERITY", "VULNERABILITY", "PACKAGE", "INSTALLED", "FIXED", "EPSS", "EXPLOITED"],
    ...findings.map((finding) =>
      [
        policy.fails(finding) ? "x" : "",
        severityOf(finding),
        vulnerabilityOf(finding),
        text(finding, "packageName"),
        text(finding, "installedVersion"),
        text(finding, "fixedVersion") || "-",
        Number(finding.epssScore ?? 0) > 0 ? Number(finding.epssScore).toFixed(3) : "-",
        finding.exploited === true ? text(finding, "exploitDueDate") || "yes" : "-",
      ].map(onOneLine),
    ),
  ]);

export const checkCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "check",
      usage: "IMAGE [--fail-on LIST] [--output FORMAT] [--timeout DURATION] [--server URL] [--context NAME]",
      description: `Check the findings in an image, and fail if --fail-on applies. Waits until Gantry has read the image.
IMAGE is REPO:TAG or REPO@DIGEST. A repo is a uid, or a path of names from the organization on. Below the organization of
the context, you can omit its name. Suppressed findings do not count. What is unknown and the end of life of the operating
system are always printed.`,
      notes: `${exitStatusText}

Examples:
  gantry findings check acme/app:1.0
  gantry findings check acme/app:1.0 --fail-on critical,high+fixable,exploited,unknown
  gantry findings check acme/app@sha256:2c26… --fail-on high --output sarif > gantry.sarif`,
      wrongArguments: "image required: gantry findings check REPO:TAG",
    }),
  )
    .summary("Check the findings in an image, for pipelines")
    .argument("<IMAGE>")
    .option(
      "--fail-on <LIST>",
      `Conditions of exit status 11, separated by commas: a severity (critical, high, medium, low,
negligible), which includes higher ones; exploited; fixable; overdue: its due date has passed; eol:
the operating system has reached its end of life; unknown: something is not judged, or a severity is unknown. With +, conditions
apply together: high+fixable`,
    )
    .option("-o, --output <FORMAT>", "table, json or sarif (default: table)")
    .option("--timeout <DURATION>", "How long to wait for the image to be read (default: 10m)", "10m")
    .action(async (given: string, options: Options) => {
      const { repo, reference } = readNamedImage(given);
      if (repo === "" || reference === "") throw wrongUsage(`IMAGE must be REPO:TAG or REPO@DIGEST, not ${JSON.stringify(given)}`);
      const output = options.output ?? "table";
      if (!outputs.includes(output)) throw wrongUsage(`--output must be table, json or sarif, not ${JSON.stringify(output)}`);
      const overdue = new Set<string>();
      const policy = options.failOn === undefined ? undefined : readPolicy(options.failOn, overdue);
      const timeoutMs = readDuration("--timeout", options.timeout, limits.findingsWaitMaxMs);
      const { server, organization, credential } = findContext(terminal, options);
      const { createClient } = await import("#contract-client");
      const client = createClient({ server, token: credential.token });
      const path = pathIn(await findOrganizationName(client, organization), repo);
      const image = `${path}${reference.includes(":") ? "@" : ":"}${reference}`;
      const reply = await waitForImage(terminal, client, image, timeoutMs);
      const findings = await findAll(client, image, reply);
      if (policy?.asksOverdue === true) {
        const filter = { overdue: true };
        for (const each of await findAll(client, image, await findPage(client, image, "", filter), filter)) overdue.add(text(each, "uid"));
      }
      const unknown = unknownOf(reply);
      const unrated = findings.filter((finding) => severityOf(finding) === "unknown").length;
      const failing = findings.filter((finding) => policy?.fails(finding) ?? false);
      const isUnknown = unknown.length > 0 || unrated > 0;
      const systems = systemsOf(reply);
      const hasEnded = systems.some(({ state }) => state === "ended");
      const fails = failing.length > 0 || (isUnknown && (policy?.failsOnUnknown ?? false)) || (hasEnded && (policy?.failsOnEndOfLife ?? false));
      const notices = [...unknown, ...systems.filter(({ state }) => state !== "supported").map(systemText)];
      if (output === "sarif") terminal.out.write(`${printableJson(JSON.stringify(sarifOf(version, image, findings, notices), undefined, 2))}\n`);
      else if (output === "json") {
        const result = {
          image,
          fails,
          failingCount: failing.length,
          unknown,
          operatingSystems: systems,
          findings,
          images: objectList(part(reply, "summary"), "images"),
        };
        terminal.out.write(`${printableJson(JSON.stringify(result, undefined, 2))}\n`);
      } else if (findings.length > 0) terminal.out.write(`${tableOf(findings, policy ?? { fails: () => false })}\n`);
      for (const each of unknown) terminal.err.write(`unknown: ${onOneLine(each)}\n`);
      for (const system of systems) terminal.err.write(`${onOneLine(systemText(system))}\n`);
      const unratedFindings = unrated === 1 ? "1 finding has" : `${unrated} findings have`;
      if (unrated > 0) terminal.err.write(`unknown: ${unratedFindings} no severity, which "gantry import vulnerabilities" imports\n`);
      const counted = `${findings.length} ${findings.length === 1 ? "finding" : "findings"}`;
      const verdict = policy === undefined ? counted : `${counted}, ${failing.length} of them ${failing.length === 1 ? "fails" : "fail"} the check`;
      terminal.err.write(`${onOneLine(image)}: ${verdict}${isUnknown ? "; not everything is known" : ""}\n`);
      if (fails) terminal.status = exitStatus.found;
    });
