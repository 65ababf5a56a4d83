// The console: its session, its headers, and texts of tenants.

import type { Mutant } from "../mutant.ts";

const session = "server/iam/signin/console-session.ts";
const handover = "server/iam/signin/console-handover.ts";

export const consoleMutants: readonly Mutant[] = [
  {
    attack: 364,
    file: session,
    find: "headers.origin === new URL(publicUrl).origin && (site === undefined",
    replace: "publicUrl !== headers.origin + '/' && (site === undefined",
  },
  {
    attack: 364,
    file: session,
    find: "if (values.length !== 1 || value.length",
    replace: "if (value.length",
  },
  {
    attack: 365,
    file: "server/iam/signin/refresh.ts",
    find: "const family = replaced ?? repeated?.family;",
    replace: "const family = replaced;",
  },
  {
    attack: 365,
    file: "server/iam/signin/refresh.ts",
    find: "{ length: limits.renewalRepeatMs / 1000 + 1 }",
    replace: "{ length: limits.renewalRepeatMs / 100 + 1 }",
  },
  {
    attack: 366,
    file: "server/iam/signin/token-endpoint.ts",
    find: 'if (form.getAll("client_id").includes(consoleClientOf(settings)))',
    replace: 'if (form.getAll("client_id").length > 9)',
  },
  {
    attack: 366,
    file: "server/iam/signin/refresh.ts",
    find: "client === consoleClientOf(settings) ? limits.consoleTokenLifetimeMs : limits.accessTokenLifetimeMs",
    replace: "client === consoleClientOf(settings) ? limits.accessTokenLifetimeMs : limits.accessTokenLifetimeMs",
  },
  {
    attack: 367,
    file: "server/console/index.ts",
    find: "if (name === pageName || !(await files()).names.has(name))",
    replace: "if (name === '')",
  },
  {
    attack: 367,
    file: "server/console/index.ts",
    find: "  \"require-trusted-types-for 'script'\",\n",
    replace: "",
  },
  {
    attack: 334,
    file: handover,
    find: "{ account: { uid, email, name: await findIdentityName(store.read, uid), operator: uid === operatorUid } }",
    replace: "{ account: { uid: '', email, name: '', operator: uid === operatorUid } }",
  },
  {
    attack: 335,
    file: "server/iam/store/authorization-codes.ts",
    find: "`delete from authorization_codes where code_hash = $1 and expire_time > $2 and grant_id is null returning ${sealedOnly.list}`",
    replace: "`select ${sealedOnly.list} from authorization_codes where code_hash = $1 and expire_time > $2 and grant_id is null`",
  },
  {
    attack: 335,
    file: handover,
    find: 'const digestPurpose = "console handover";',
    replace: 'const digestPurpose = "authorization code";',
  },
  {
    attack: 336,
    file: handover,
    find: "  await authn.authenticate(headers.authorization, undefined, () => origin.address);\n",
    replace: "",
  },
];
