// Creates request groups from a file or items: parsed before the transaction, compared and written inside it.

import { hash } from "node:crypto";
import { invalid } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { timestamp } from "#base/time.ts";
import { newChild } from "#base/uid.ts";
import { ecosystemOf, formatOfFile, isRequirementFormat, readRequirements, type Requirement, type RequirementFormat } from "#advisories/feeds";
import { boundOf, change, holdParent, type Outcome, type ReadContext, type WriteContext, type Writes } from "#kernel";
import { insertRequestItems, type RequestItem } from "#libraries/store";
import { availabilities, coverageOf, type LibraryEcosystem, summaryOf, versionKeyOf } from "./coverage.ts";

interface Input {
  readonly format: RequirementFormat;
  readonly content: string;
  readonly isFile: boolean;
}

const lockFiles: ReadonlySet<RequirementFormat> = new Set(["INPUT_FORMAT_POETRY_LOCK", "INPUT_FORMAT_UV_LOCK"]);

const inputOf = (request: JsonObject): Input => {
  const [content, items, filename] = [text(request, "content"), texts(request, "items"), text(request, "filename")];
  if ((content === "") === (items.length === 0)) throw invalid([{ field: "content", description: "exactly one of content and items must be given" }]);
  const asked = text(request, "format");
  const format = isRequirementFormat(asked) ? asked : formatOfFile(filename);
  if (!format) throw invalid([{ field: "format", description: "is required because the filename does not show it" }]);
  if (content !== "") return { format, content, isFile: true };
  if (lockFiles.has(format)) throw invalid([{ field: "format", description: "must be a format with one line for each item" }]);
  const broken = items.findIndex((item) => item === "" || /[\r\n]/.test(item));
  if (broken >= 0) throw invalid([{ field: `items[${broken}]`, description: "must be one line" }]);
  return { format, content: items.join("\n"), isFile: false };
};

/** Items are children of their group, numbered in the order read. */
const itemUidOf = (group: string, index: number): string => `${group}/${(index + 1).toString(16).padStart(16, "0")}`;

type NewItem = RequestItem & { readonly sortKey: string };

const itemsOf = async (
  { rows }: WriteContext,
  group: string,
  ecosystem: LibraryEcosystem,
  requirements: readonly Requirement[],
): Promise<readonly NewItem[]> => {
  const items = requirements.map(
    ({ text: requirement, name, version, problem }, index): NewItem => ({
      uid: itemUidOf(group, index),
      requirement,
      packageName: name,
      version,
      ecosystem,
      sortKey: version === "" ? "" : versionKeyOf(ecosystem, version),
      availability: problem === "" ? availabilities.canBeRequested : availabilities.invalid,
      availabilityReason: problem,
      closestVersion: "",
      latestVersion: "",
      removed: false,
    }),
  );
  const wanted = items.filter(({ availability }) => availability !== availabilities.invalid);
  const covered = new Map((await coverageOf(rows, ecosystem, wanted)).map((coverage) => [coverage.uid, coverage]));
  return items.map((item) => ({ ...item, ...covered.get(item.uid) }));
};

const write = async (context: WriteContext, { format, content, isFile }: Input, requirements: readonly Requirement[]): Promise<Outcome> => {
  const { request, rows, nowMs, caller } = context;
  const found = boundOf(context, "chainguard.platform.libraries.v2beta1.RequestGroup");
  const parent = text(request, "parent");
  holdParent(context, found, parent);
  const uid = newChild(parent);
  const ecosystem = ecosystemOf(format);
  const filename = text(request, "filename");
  await insertRequestItems(rows, await itemsOf(context, uid, ecosystem, requirements), nowMs);
  const body: JsonObject = {
    parentId: parent,
    name: text(request, "name"),
    status: "REQUEST_GROUP_STATUS_PENDING",
    ecosystem,
    source: isFile ? "REQUEST_SOURCE_MANUAL_UPLOAD" : "REQUEST_SOURCE_API",
    forCveRemediation: request.forCveRemediation === true,
    itemsUpdateTime: timestamp(nowMs),
    createdBy: caller?.uid ?? "",
    input: {
      ...(filename === "" ? {} : { filename }),
      format,
      contentHash: `sha256:${hash("sha256", content, "hex")}`,
      itemCount: requirements.length,
    },
    availabilitySummary: (await summaryOf(rows, uid)).message,
    orgUpstreamEnabled: false,
  };
  const { record } = await change(context, found, { kind: "create", parent, uid, body }, "cause");
  return { reply: record };
};

/** Rejects an invalid list before anything is written. */
export const createRequestGroup = async ({ request }: ReadContext): Promise<Writes> => {
  const input = inputOf(request);
  const requirements = await readRequirements(input.format, input.content, input.isFile ? "content" : "items", input.isFile ? "line" : "entry");
  return { writes: (context) => write(context, input, requirements) };
};
