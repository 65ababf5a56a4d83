// SCIM discovery: supported features, resource types and schemas (RFC 7643, 5 and 6; RFC 7644, 4).

import { denied } from "#base/fault.ts";
import { type JsonObject, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { baseOf, listResponse } from "./documents/answer.ts";
import { noResource } from "./documents/faults.ts";
import { enterpriseSchema, groupSchema, schemas, shownSchema, userSchema } from "./documents/schemas.ts";

const serviceProviderConfig = async (context: ReadContext): Promise<Outcome> => ({
  reply: {
    document: {
      schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
      patch: { supported: true },
      bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
      filter: { supported: true, maxResults: limits.scimPageMax },
      changePassword: { supported: false },
      sort: { supported: true },
      etag: { supported: true },
      authenticationSchemes: [
        { type: "oauthbearertoken", name: "SCIM token", description: "The SCIM token of the identity provider, as a bearer token.", primary: true },
      ],
      meta: { resourceType: "ServiceProviderConfig", location: `${baseOf(context)}/ServiceProviderConfig` },
    },
  },
});

const resourceType = (base: string, name: string, description: string, more: JsonObject): JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
  id: name,
  name,
  description,
  ...more,
  meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${name}` },
});

const resourceTypes = (base: string): JsonObject[] => [
  resourceType(base, "User", "A person", {
    endpoint: "/Users",
    schema: userSchema,
    schemaExtensions: [{ schema: enterpriseSchema, required: false }],
  }),
  resourceType(base, "Group", "A group of users at the provider", { endpoint: "/Groups", schema: groupSchema }),
];

/** RFC 7644, 4: discovery endpoints reject filters. */
const listed = ({ request }: ReadContext, all: JsonObject[]): Outcome => {
  if (text(request, "filter") !== "") throw denied("these are not filtered");
  return { reply: { document: listResponse(all, all.length, 0) } };
};

const found = ({ request }: ReadContext, kind: string, all: JsonObject[]): Outcome => {
  const id = text(request, "id");
  const document = all.find((each) => text(each, "id") === id);
  if (!document) throw noResource(kind, id);
  return { reply: { document } };
};

const shownSchemas = (context: ReadContext): JsonObject[] => schemas.map((each) => shownSchema(each, baseOf(context)));

export const scimDiscovery = resource({
  service: "gantry.scim.v1.ScimDiscoveryService",
  message: "gantry.scim.v1.ScimAnswer",
  methods: {
    GetServiceProviderConfig: { reads: serviceProviderConfig },
    ListResourceTypes: { reads: async (context) => listed(context, resourceTypes(baseOf(context))) },
    GetResourceType: { reads: async (context) => found(context, "ResourceType", resourceTypes(baseOf(context))) },
    ListSchemas: { reads: async (context) => listed(context, shownSchemas(context)) },
    GetSchema: { reads: async (context) => found(context, "Schema", shownSchemas(context)) },
  },
});
