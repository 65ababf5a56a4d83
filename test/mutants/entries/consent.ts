// Sign-in pages, sessions, pending role bindings, scopes of registry tokens, and what an import may withdraw.

import type { Mutant } from "../mutant.ts";

const guard = "server/feeds/withdrawal-guard.ts";
const rights = "server/store/rights.ts";

export const consent: readonly Mutant[] = [
  {
    attack: 243,
    file: "server/signin/redirect.ts",
    find: "isLoopbackAddress(url) && !isOwnPort(site, url)",
    replace: "(isLoopbackAddress(url) || isOwnPort(site, url))",
  },
  {
    attack: 251,
    file: "server/signin/stored-question.ts",
    find: 'if (!isConfirmed({ publicUrl, vault, clock }, request, field, "Lax")) return { isConfirmed: false, about: undefined };',
    replace: 'isConfirmed({ publicUrl, vault, clock }, request, field, "Lax");',
  },
  {
    attack: 256,
    file: "server/store/sign-in-sessions.ts",
    find: "`identity_uid = ${bind(identityUid)}`",
    replace: "`${bind(identityUid)}::text is not null`",
  },
  { attack: 263, file: rights, find: "where binding.identity_uid = $2 and length($2::text) > 40", replace: "where binding.identity_uid = $2" },
  { attack: 266, file: rights, find: "where binding.identity_uid = $2 and length($2::text) > 40", replace: "where binding.identity_uid = $2" },
  {
    attack: 279,
    file: "server/signin/registry-scopes.ts",
    find: 'registryActions.filter((action) => named.has(action) || named.has("*"))',
    replace: "registryActions.filter((action) => named.size > 0 && action.length > 0)",
  },
  {
    attack: 280,
    file: "server/authn/token.ts",
    find: "if (isForRegistry && !acceptsRegistryTokens)",
    replace: "if (isForRegistry && acceptsRegistryTokens === undefined)",
    tests: ["server/authn/token.test.ts"],
  },
  {
    attack: 281,
    file: "server/resources/registry/distribution/token-scope.ts",
    find: "if (!covers(access.group, found.path)) return insufficientScope(action);",
    replace: 'if (!covers(access.group, found.path) && found.path === "") return insufficientScope(action);',
  },
  { attack: 291, file: guard, find: "if (nowMs - sinceMs >= limits.feedHoldMs)", replace: "if (nowMs - sinceMs >= 0)" },
  { attack: 292, file: guard, find: "Math.max(missing + history.withdrawn, history.largest - records)", replace: "missing" },
];
