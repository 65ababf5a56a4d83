// Lists the resources of all domains, in the order of the domains.

import { advisoriesResources } from "#advisories/resources";
import { auditResources } from "#audit/resources";
import { eventsResources } from "#events/resources";
import { iamResources } from "#iam/resources";
import { librariesResources } from "#libraries/resources";
import { registryResources } from "#registry/resources";
import { searchResources } from "#search";

export const resources = [
  ...iamResources,
  ...registryResources,
  ...advisoriesResources,
  ...librariesResources,
  ...eventsResources,
  ...auditResources,
  ...searchResources,
];
