// Common parts of SCIM responses: the provider's base URL, and lists.

import { type JsonObject, text } from "#base/json.ts";
import type { ReadContext } from "#kernel";

export type ScimRequest = Pick<ReadContext, "request" | "services">;

export const baseOf = ({ request, services }: ScimRequest): string =>
  `${services.publicUrl.replace(/\/$/, "")}/scim/v2/${text(request, "identityProviderUid")}`;

/** RFC 7644, 3.4.2. `skip`: number of results before these. */
export const listResponse = (resources: JsonObject[], totalResults: number, skip: number): JsonObject => ({
  schemas: ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
  totalResults,
  startIndex: skip + 1,
  itemsPerPage: resources.length,
  Resources: resources,
});
