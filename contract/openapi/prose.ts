// General descriptions in the OpenAPI documents.

import { limits } from "#base/limits.ts";
import { version1Document } from "./names.ts";
import type { Texts } from "./schemas.ts";

const unwrapped = (text: string): string => text.trim().replace(/([^\n])\n(?!\n|- )/g, "$1 ");

/** Converts comments of the contract (contract/gen/texts.ts) to descriptions. */
export const textsOf = (comments: Texts): Texts => Object.fromEntries(Object.entries(comments).map(([name, comment]) => [name, unwrapped(comment)]));

const conventions = `
**JSON.** Field names are camelCase; the server takes snake_case as well. Times are RFC 3339 in UTC with three decimals, 64-bit
integers are strings, enums are names. Empty strings, lists, maps and unset fields are omitted from responses. Unknown fields of a
request are refused, field by field.

**Lists** come in pages of ${limits.pageSizeDefault}, or of \`page_size\` up to ${limits.pageSizeMax}. \`nextPageToken\` of one page is
\`page_token\` of the next; the last page has none. \`totalCount\` is the number of all results visible to the caller, \`skip\` omits
results at the start of a page, \`order_by\` is one field and optionally \`asc\` or \`desc\`. A page token is valid for three days; an
older one restarts at the first page.

**Hierarchy.** Every resource has a parent group, and a uid contains the uids of its ancestors. \`uidp.descendants_of\` selects all descendants of
a uid, \`uidp.children_of\` its direct children.

**Updates** change the fields in \`updateMask\`, or without a mask the fields in the body; \`*\` replaces all.

**Safe writes.** \`validateOnly=true\` validates a write, \`Idempotency-Key\` makes it safe to retry, \`If-Match\` refuses it if the
resource has changed.

**Errors** have the body of AIP-193: code, message, and details with an \`@type\`. Programs should use codes and details,
not messages.`;

const whole = `
The API of this server: version 2 and Gantry's own operations. Version 1 is described in \`/openapi/v1.json\`. Paths with \`/v2beta1/\`
instead of \`/v2/\` are the same operations under their earlier name. All operations are also available over gRPC on the same port. Below
\`/v2/\` the server implements the OCI Distribution protocol, which has its own specification.
`;

const version1 = `
Version 1 of the API: the same resources in their earlier shape. It stays supported alongside version 2. Lists are returned whole, updates are
full replacements, and errors have no details.`;

export const descriptionOf = (name: string): string => {
  if (name === version1Document) return unwrapped(version1);
  const about = name === "whole" ? whole : `The part of the API about ${name}; \`/openapi.json\` describes everything.\n`;
  return unwrapped(`${about}${conventions}`);
};

export const bearerText = unwrapped(`
An access token of this server: from \`/oauth/token\`, \`/sts/exchange\` or a sign-in. A token of another issuer is accepted too: it acts as
the user registered with its issuer and subject or, with the header \`Gantry-Identity: UID\`, as the assumable identity that its
claims match. Role bindings grant permissions; each operation lists the capabilities that it requires.`);

export const basicText = "For programs that download files: the token is the password. The user name is the uid of an identity to act as, or `_token`.";

export const idempotencyText = unwrapped(`
Makes the write safe to retry: for 24 hours, the same key and request of the same caller return the first response again,
with \`Gantry-Replayed: true\`. The key is refused for a different request.`);
