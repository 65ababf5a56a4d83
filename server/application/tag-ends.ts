// End of life of tags, by the operator's policies and by annotations pushed about a digest. Runs on any number of servers; each
// change has an event, like a request's.

import { Fault } from "#base/fault.ts";
import { limits } from "#base/limits.ts";
import { compilePattern } from "#base/pattern.ts";
import { fitsTagPolicy } from "#base/tag-policy.ts";
import { timestamp } from "#base/time.ts";
import { isRoot, isUid } from "#base/uid.ts";
import { type ImportCall, type Kernel, runImport } from "#kernel";
import {
  deleteEndedTag,
  deleteTagPolicy,
  findDuePatterns,
  findTagPolicies,
  type HeldTag,
  insertEndedTag,
  lockDuePolicy,
  lockEndedTags,
  lockTagsBehind,
  lockTagsToCheck,
  noteSeenTags,
  type TagPolicy,
  writeTagPolicy,
} from "#registry/store";
import type { Write } from "#db";
import { recordCommand } from "./command-record.ts";

const dayOf = (nowMs: number): string => timestamp(nowMs).slice(0, 10);

const changeTag = async (call: ImportCall, tag: HeldTag, deprecated: boolean, nowMs: number): Promise<void> => {
  const body = { name: tag.name, digest: tag.digest, deprecated, ...(tag.bundles.length === 0 ? {} : { bundles: [...tag.bundles] }) };
  await call("chainguard.platform.registry.v2.TagsService/CreateTag", { parent: tag.repoUid, tag: body }, nowMs);
};

/** Returns true if there may be more. */
const applyPolicy = async (call: ImportCall, rows: Write, nowMs: number): Promise<boolean> => {
  const policy = await lockDuePolicy(rows, dayOf(nowMs));
  if (!policy) return false;
  const tags = await lockTagsBehind(rows, policy.organization, policy.seenUid, limits.endedTagsMax);
  for (const tag of tags) if (fitsTagPolicy([policy.pattern], tag.repoName, tag.name)) await changeTag(call, tag, true, nowMs);
  await noteSeenTags(rows, policy, tags.at(-1)?.uid ?? policy.seenUid, tags.length < limits.endedTagsMax);
  return true;
};

const endByAnnotation = async (call: ImportCall, rows: Write, nowMs: number): Promise<boolean> => {
  const tags = await lockEndedTags(rows, dayOf(nowMs), limits.endedTagsMax);
  // A digest may have two annotations.
  const each = [...new Map(tags.map((tag) => [tag.uid, tag])).values()];
  for (const tag of each) {
    await changeTag(call, tag, true, nowMs);
    await insertEndedTag(rows, tag.uid);
  }
  return tags.length === limits.endedTagsMax;
};

/** Undoes the deprecation of tags that have lost their reason. */
const checkAgain = async (call: ImportCall, rows: Write, nowMs: number): Promise<boolean> => {
  const tags = await lockTagsToCheck(rows, dayOf(nowMs), limits.endedTagsMax);
  for (const tag of tags) {
    const { patterns } = await findDuePatterns(rows, tag.repoUid, dayOf(nowMs));
    if (tag.isEnded || fitsTagPolicy(patterns, tag.repoName, tag.name)) {
      await insertEndedTag(rows, tag.uid);
      continue;
    }
    await deleteEndedTag(rows, tag.uid);
    if (tag.deprecated) await changeTag(call, tag, false, nowMs);
  }
  return tags.length === limits.endedTagsMax;
};

export const endTags = async (kernel: Kernel): Promise<void> => {
  const { clock } = kernel.services;
  for (const step of [checkAgain, applyPolicy, endByAnnotation])
    while (await runImport(kernel, `end of tags ${crypto.randomUUID()}`, (call, rows) => step(call, rows, clock())));
};

/** Processes due tags periodically until stopped. */
export const startTagEnds = (kernel: Kernel): { readonly stop: () => Promise<void> } => {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= endTags(kernel)
      .catch((cause: unknown) => kernel.services.log("tags.end.failed", { cause }))
      .finally(() => {
        running = undefined;
      });
  }, limits.tagEndsMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
};

export type { TagPolicy };

export interface TagPolicyDraft {
  /** undefined: all organizations. */
  readonly organization: string | undefined;
  readonly pattern: string;
  /** Such as "2026-04-30". */
  readonly endDate: string;
}

const readOrganization = (uid: string | undefined): string => {
  if (uid !== undefined && !(isUid(uid) && isRoot(uid)))
    throw new Fault("INVALID_ARGUMENT", `--organization must be an organization's uid, not ${JSON.stringify(uid)}`);
  return uid ?? "";
};

export const listTagPolicies = (kernel: Kernel): Promise<TagPolicy[]> => findTagPolicies(kernel.services.store.read);

const eventType = "dev.gantry.registry.policy.changed.v1";

/** Sets a policy and applies it if it is due. Throws a one-line Fault. */
export const setTagPolicy = async (kernel: Kernel, { organization, pattern, endDate }: TagPolicyDraft): Promise<void> => {
  const whose = readOrganization(organization);
  if (pattern.length > limits.patternLengthMax || compilePattern(pattern) === undefined)
    throw new Fault(
      "INVALID_ARGUMENT",
      `${JSON.stringify(pattern)} is not a valid RE2 pattern, or is too large. It must match the whole REPO:TAG, such as nginx:1\\.2[0-5]`,
    );
  if (!/^\d{4}-\d{2}-\d{2}$/.test(endDate) || Number.isNaN(Date.parse(endDate)))
    throw new Fault("INVALID_ARGUMENT", `the day must have the form YYYY-MM-DD (for example 2026-04-30), not ${JSON.stringify(endDate)}`);
  const { services } = kernel;
  await services.store.write(async (rows) => {
    await writeTagPolicy(rows, { organization: whose, pattern, endDate });
    await recordCommand(rows, services, `admin end-of-life set ${pattern} ${endDate}`, eventType, whose);
  });
  await endTags(kernel);
};

/** Deletes a policy; tags without another reason are no longer deprecated. Throws a one-line Fault. */
export const unsetTagPolicy = async (kernel: Kernel, { organization, pattern }: Omit<TagPolicyDraft, "endDate">): Promise<void> => {
  const whose = readOrganization(organization);
  const { services } = kernel;
  await services.store.write(async (rows) => {
    if (!(await deleteTagPolicy(rows, whose, pattern)))
      throw new Fault("NOT_FOUND", `policy ${JSON.stringify(pattern)} not found. List the policies with gantry admin end-of-life list`);
    await recordCommand(rows, services, `admin end-of-life unset ${pattern}`, eventType, whose);
  });
  await endTags(kernel);
};
