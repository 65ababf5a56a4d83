// Tokens, issuers, exchanges.

import type { Mutant } from "../mutant.ts";

const token = "server/authn/token.ts";
const issuers = "server/authn/issuers.ts";
const foreignTokens = "server/authn/foreign-tokens.ts";
const exchange = "server/authn/exchange.ts";

export const authentication: readonly Mutant[] = [
  {
    attack: 11,
    file: foreignTokens,
    find: "if (cached?.by === by && cached.untilMs > clock()) return;",
    replace: "if (cached && cached.untilMs > clock()) return;",
  },
  { attack: 14, file: token, find: '"ES512", "EdDSA", "Ed25519"];', replace: '"ES512", "EdDSA", "Ed25519", "HS256", "none"];' },
  { attack: 15, file: token, find: '"crit", "b64", "jwk", "jku", "x5c", "x5u"]', replace: '"crit", "b64"]' },
  { attack: 16, file: token, find: '"crit", "b64", "jwk", "jku", "x5c", "x5u"]', replace: '"jwk", "jku", "x5c", "x5u"]' },
  { attack: 17, file: issuers, find: '    url.username === "" &&\n    url.password === "" &&\n    url.search === "" &&\n', replace: "" },
  { attack: 17, file: issuers, find: "(url.href === issuer || url.href === `${issuer}/`) &&", replace: "" },
  { attack: 79, file: foreignTokens, find: "if (!matchesIssuer(match, token.issuer, matchingBudget())) throw otherIssuer(token);", replace: "" },
  {
    attack: 18,
    file: foreignTokens,
    find: "if (providerAudiences === undefined && !(await isPeopleIssuer(token.issuer)))",
    replace: "if (false)",
  },
  { attack: 18, file: issuers, find: "if (underWay === undefined && !mayTry(issuer)) throw error;", replace: "" },
  {
    attack: 21,
    file: issuers,
    find: "throw unreachable(issuer, cause);",
    replace: 'throw new Fault("UNAVAILABLE", String(cause instanceof Error ? cause.message : cause), { cause });',
  },
  { attack: 23, file: issuers, find: 'if (discovery.issuer !== issuer) throw new Error("the discovery document names another issuer");', replace: "" },
  { attack: 30, file: "server/authn/claims.ts", find: 'if (literal === "" && pattern === "") return false;', replace: "" },
  { attack: 38, file: issuers, find: "if (running.count >= triesMax)", replace: "if (running.count < 0)" },
  {
    attack: 39,
    file: "server/authn/issuer-hosts.ts",
    find: "if (named === undefined) return false;\n  if",
    replace: "if (named === undefined) return true;\n  if",
  },
  {
    attack: 71,
    file: foreignTokens,
    find: "await checkClaimMatch(uid, found.claimMatch ?? {}, token, isVerified);\n          return checkIdentityEnd(found, clock());",
    replace: "await checkClaimMatch(uid, found.claimMatch ?? {}, token, isVerified);\n          return Number.POSITIVE_INFINITY;",
  },
  {
    attack: 79,
    file: foreignTokens,
    find:
      "await verifyOnce(token, json, () => checkSignature(token, keySetOf(json), foreignAlgorithms));\n" +
      "    if (mismatch !== undefined) throw mismatchFault(token, mismatch);",
    replace:
      "if (mismatch !== undefined) throw mismatchFault(token, mismatch);\n" +
      "    await verifyOnce(token, json, () => checkSignature(token, keySetOf(json), foreignAlgorithms));",
  },
  {
    attack: 79,
    file: foreignTokens,
    find: "    const mismatch = claimMismatch(match, token, audiences.accepted);\n    if (mismatch !== undefined) throw mismatchFault(token, mismatch);\n",
    replace: "    const mismatch = claimMismatch(match, token, audiences.accepted);\n",
  },
  {
    attack: 79,
    file: "server/authn/claims.ts",
    find: "...(named === undefined ? { wanted: wantedAudience(audience, audiencePattern, accepted) } : {})",
    replace: "wanted: wantedAudience(audience, audiencePattern, accepted)",
  },
  { attack: 160, file: exchange, find: "    audiences.check(own.audience);\n", replace: "" },
  { attack: 315, file: exchange, find: "downscoping: subject.within === undefined ? (own ?? notDownscoped) :", replace: "downscoping: true ? notDownscoped :" },
  { attack: 315, file: exchange, find: 'if (audience.some((entry) => entry !== "" && !audiences.accepted.has(entry)))', replace: "if (audience.length > 9)" },
  { attack: 316, file: exchange, find: "await through.admit(uid);", replace: "" },
  {
    attack: 316,
    file: "server/iam/signin/provisioning.ts",
    find: "if (found?.acceptTime === undefined) throw new Fault(",
    replace: "if (found === undefined) throw new Fault(",
  },
  { attack: 317, file: foreignTokens, find: "if (!isForClient) throw unauthenticated(", replace: "if (!provider) throw unauthenticated(" },
  {
    attack: 317,
    file: foreignTokens,
    find: "const isForClient = token.audience.includes(clientId) && (azp === undefined ? token.audience.length === 1 : azp === clientId);",
    replace: "const isForClient = azp === undefined || token.audience.includes(clientId);",
  },
];
