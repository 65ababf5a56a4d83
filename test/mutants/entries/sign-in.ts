// Invites, authorization codes, devices, refresh tokens.

import type { Mutant } from "../mutant.ts";

const registration = "server/iam/signin/registration.ts";
const clients = "server/iam/signin/clients.ts";
const device = "server/iam/signin/device.ts";
const codes = "server/iam/signin/authorization-code.ts";

export const signIn: readonly Mutant[] = [
  {
    attack: 24,
    file: registration,
    find: "if (!row?.[0] || !own) return false;\n",
    replace: "if (row !== undefined || own !== undefined) return true;\n  if (!row?.[0] || !own) return false;\n",
  },
  {
    attack: 24,
    file: registration,
    find: 'if (person.email !== "" && !(await isBelievedEmail(context, group, person.issuer, person.email))) {',
    replace: "if (false) {",
  },
  {
    attack: 63,
    file: registration,
    find: "(await providerAudiences(context, group, issuer)) !== undefined;",
    replace: "(await providerAudiences(context, group, issuer)) !== null;",
  },
  {
    attack: 70,
    file: registration,
    find: "return shortestRight(rights, given, untilMs, mappingsCount) === undefined;",
    replace: "return shortestRight(rights, given, nowMs, mappingsCount) === undefined;",
  },
  {
    attack: 151,
    file: codes,
    find: "return computed.length === expected.length && timingSafeEqual(computed, expected);",
    replace: "return computed.length === expected.length || !timingSafeEqual(computed, computed);",
  },
  { attack: 154, file: codes, find: '...(state === "" ? {} : { state }), iss: publicUrl });', replace: '...(state === "" ? {} : { state }) });' },
  {
    attack: 154,
    file: codes,
    find: 'for (const name of ["code", "error", "error_description", "error_uri", "state", "iss"]) url.searchParams.delete(name);',
    replace: "",
  },
  {
    attack: 151,
    file: codes,
    find: "if (completion.client !== client || completion.redirectUri !== redirectUri ||",
    replace: "if (completion.client !== client ||",
  },
  { attack: 151, file: codes, find: "  await useAuthorizationCode(rows, codeHash, grant.id);\n", replace: "" },
  { attack: 151, file: codes, find: '    await endNamedSession(rows, row.grantId, granted?.signedIn.uid ?? "", nowMs);\n', replace: "" },
  {
    attack: 152,
    file: clients,
    find: "!redirectUris.some((listed) => withoutLoopbackPort(listed) === asked)",
    replace: "!redirectUris.some((listed) => asked.startsWith(withoutLoopbackPort(listed)))",
  },
  {
    attack: 156,
    file: "server/authn/client-documents.ts",
    find: 'return value.client_id === clientId ? value : "names another client_id";',
    replace: "return value;",
  },
  { attack: 156, file: "server/authn/client-documents.ts", find: "        bytesMax: limits.clientDocumentBytesMax,\n", replace: "" },
  { attack: 157, file: codes, find: 'return oauthFault("invalid_target", "the code was given for another resource");', replace: "return undefined;" },
  { attack: 158, file: "server/authn/client-documents.ts", find: 'if (!held) clientLimits.take("client-documents", address);', replace: "" },
  { attack: 211, file: clients, find: 'if (isOwnAddress(settings, id)) throw unfitDocument("this server vouches for its own pages alone");', replace: "" },
  { attack: 59, file: device, find: '  clientLimits.addFailure("wrong-user-codes", address);\n', replace: "" },
];
