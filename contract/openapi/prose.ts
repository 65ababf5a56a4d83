// What the documents say about the API as a whole, before any operation.

import { limits } from "#base/limits.ts";
import { version1Document } from "./names.ts";
import type { Texts } from "./schemas.ts";

/** Lines of a paragraph as one; paragraphs, and what is listed, stay apart. */
const unwrapped = (text: string): string => text.trim().replace(/([^\n])\n(?!\n|- )/g, "$1 ");

/** What the contract's comments say (contract/gen/texts.ts) as texts of the documents. */
export const textsOf = (comments: Texts): Texts => Object.fromEntries(Object.entries(comments).map(([name, comment]) => [name, unwrapped(comment)]));

const conventions = `
**JSON.** Field names are camelCase; the server takes snake_case as well. Times are RFC 3339 in UTC with three decimals, 64-bit
integers are strings, enums are names. Empty texts, lists, maps and unset fields are left out of answers. What a request says that the
server does not know is refused, field by field.

**Lists** come in pages of ${limits.pageSizeDefault}, or of \`page_size\` up to ${limits.pageSizeMax}. \`nextPageToken\` of one page is
\`page_token\` of the next; the last page has none. \`totalCount\` is the number of all results that the caller may see, \`skip\` leaves
out results at the start of a page, \`order_by\` is one field and optionally \`asc\` or \`desc\`. A page token is good for three days; an
older one begins again at the first page.

**Places.** Everything lies below a group, and a uid contains the uids of everything above it. \`uidp.descendants_of\` asks for all below
a uid, \`uidp.children_of\` for what lies directly below it.

**Updates** change the fields that \`updateMask\` names, or without one those that the body names; \`*\` replaces all.

**Safe writes.** \`validateOnly=true\` tries a write, \`Idempotency-Key\` makes it safe to repeat, \`If-Match\` refuses it where the
resource has changed.

**Errors** have the body of AIP-193: code, message, and details of which \`@type\` says the kind. Programs look at codes and details,
never at messages.`;

const whole = `
The API of this server: version 2, and the operations of its own. Version 1 is described in \`/openapi/v1.json\`. Paths with \`/v2beta1/\`
in place of \`/v2/\` are the same operations under their earlier name. The same operations are offered over gRPC on the same port. Below
\`/v2/\` the server speaks the OCI Distribution protocol, which has a specification of its own.
`;

const version1 = `
Version 1 of the API: the same resources in their earlier shape. It stays supported beside version 2. Lists are given whole, updates are
full replacements, and errors carry no details.`;

/** The description of a document. */
export const descriptionOf = (name: string): string => {
  if (name === version1Document) return unwrapped(version1);
  const about = name === "whole" ? whole : `The part of the API about ${name}; \`/openapi.json\` describes everything.\n`;
  return unwrapped(`${about}${conventions}`);
};

/** How a caller says who it is. */
export const bearerText = unwrapped(`
An access token of this server: from \`/oauth/token\`, \`/sts/exchange\` or a sign-in. A token of another issuer is taken as well: it acts as
the person who is registered with its issuer and subject or, with the header \`Gantry-Identity: UID\`, as the assumable identity that its
claims match. What a caller may do follows from role bindings; each operation says which capabilities it needs.`);

export const basicText = "For programs that fetch files: the token as the password. The name is the uid of an identity to act as, or `_token`.";

export const idempotencyText = unwrapped(`
Makes the write safe to repeat: the same key with the same request is answered as the first time, for 24 hours and for the same caller,
with \`Gantry-Replayed: true\`. With another request the key is refused.`);
