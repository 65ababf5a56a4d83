// Requests about retention rules and immutable tags.

import type {
  ImmutableTagRule,
  ImmutableTagRuleInput,
  ImmutableTagRulePath,
  ImmutableTagRuleUpdate,
  ListImmutableTagRulesResponse,
  ListRetentionRulesResponse,
  PreviewRetentionRulesResponse,
  RetentionRule,
  RetentionRuleInput,
  RetentionRulePath,
  RetentionRuleUpdate,
} from "../../../client/package.ts";
import type { Question } from "../api.ts";
import type { Scope } from "../places.tsx";
import { pageFrom } from "../questions.ts";
import type { Version } from "../versions.tsx";

const at = (uidp: Scope, skip: number) => ({ uidp, ...pageFrom(skip) });

export const retentionRulesAt = (scope: Scope, skip: number): Question<ListRetentionRulesResponse> => {
  const request = at(scope, skip);
  return { name: "registry.retention-rules.list", request, send: (gantry, signal) => gantry.registry.retentionRules.list(request, { signal }).page() };
};

export const createRetentionRule = (parent: string, retentionRule: RetentionRuleInput): Question<RetentionRule> => ({
  name: "registry.retention-rules.create",
  request: { parent, retentionRule },
  send: (gantry, signal) => gantry.registry.retentionRules.create({ parent, retentionRule }, { signal }),
});

export const retentionRule = (uid: string): Question<Version<RetentionRule>> => ({
  name: "registry.retention-rules.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.registry.retentionRules.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

export const updateRetentionRule = (
  rule: RetentionRuleUpdate,
  updateMask: readonly RetentionRulePath[],
  ifMatch: string | undefined,
): Question<RetentionRule> => ({
  name: "registry.retention-rules.update",
  request: { retentionRule: rule, updateMask },
  send: (gantry, signal) => gantry.registry.retentionRules.update({ retentionRule: rule, updateMask }, { signal, ifMatch }),
});

export const deleteRetentionRule = (uid: string): Question<void> => ({
  name: "registry.retention-rules.delete",
  request: { uid },
  send: (gantry, signal) => gantry.registry.retentionRules.delete({ uid }, { signal }),
});

/** What the next run of the enforced rules deletes in a repo. */
export const nextRunIn = (repoUid: string, skip: number): Question<PreviewRetentionRulesResponse> => {
  const request = { repoUid, deletedOnly: true, ...pageFrom(skip) };
  return { name: "registry.retention-rules.preview", request, send: (gantry, signal) => gantry.registry.retentionRules.preview(request, { signal }) };
};

export const immutableTagRulesAt = (scope: Scope, skip: number): Question<ListImmutableTagRulesResponse> => {
  const request = at(scope, skip);
  return { name: "registry.immutable-tag-rules.list", request, send: (gantry, signal) => gantry.registry.immutableTagRules.list(request, { signal }).page() };
};

export const createImmutableTagRule = (parent: string, immutableTagRule: ImmutableTagRuleInput): Question<ImmutableTagRule> => ({
  name: "registry.immutable-tag-rules.create",
  request: { parent, immutableTagRule },
  send: (gantry, signal) => gantry.registry.immutableTagRules.create({ parent, immutableTagRule }, { signal }),
});

export const immutableTagRule = (uid: string): Question<Version<ImmutableTagRule>> => ({
  name: "registry.immutable-tag-rules.get",
  request: { uid },
  send: async (gantry, signal) => {
    const { data, etag } = await gantry.registry.immutableTagRules.get({ uid }, { signal }).withResponse();
    return { resource: data, etag };
  },
});

export const updateImmutableTagRule = (
  rule: ImmutableTagRuleUpdate,
  updateMask: readonly ImmutableTagRulePath[],
  ifMatch: string | undefined,
): Question<ImmutableTagRule> => ({
  name: "registry.immutable-tag-rules.update",
  request: { immutableTagRule: rule, updateMask },
  send: (gantry, signal) => gantry.registry.immutableTagRules.update({ immutableTagRule: rule, updateMask }, { signal, ifMatch }),
});

export const deleteImmutableTagRule = (uid: string): Question<void> => ({
  name: "registry.immutable-tag-rules.delete",
  request: { uid },
  send: (gantry, signal) => gantry.registry.immutableTagRules.delete({ uid }, { signal }),
});
