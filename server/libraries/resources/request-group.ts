// A request group: libraries that a member requests for the catalog; a draft until submitted.

import { resource } from "#kernel";
import { deleteRequestGroup, refreshCoverage, removeItems, restoreItems, submitRequestGroup } from "./requests/change-items.ts";
import { createRequestGroup } from "./requests/create.ts";
import { listItems, listRequestedLibraries, listRequestedVersions, listRequestGroups, requestGroupConditions } from "./requests/lists.ts";

export const requestGroup = resource({
  service: "chainguard.platform.libraries.v2beta1.RequestGroupsService",
  message: "chainguard.platform.libraries.v2beta1.RequestGroup",
  table: "request_groups",
  sideTables: [{ table: "request_group_items", column: "uid" }],
  conditions: requestGroupConditions,
  methods: {
    CreateRequestGroup: { asks: createRequestGroup },
    ListRequestGroups: { reads: listRequestGroups },
    ListRequestGroupItems: { reads: listItems },
    SubmitRequestGroup: { writes: submitRequestGroup },
    RemoveItems: { writes: removeItems },
    RestoreItems: { writes: restoreItems },
    DeleteRequestGroup: { writes: deleteRequestGroup },
    RefreshCoverage: { writes: refreshCoverage },
    ListRequestedLibraries: { reads: listRequestedLibraries },
    ListRequestedLibraryVersions: { reads: listRequestedVersions },
  },
});
