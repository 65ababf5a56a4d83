// Texts of a group's own page.

import { counted, list } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  sections: "Sections of the group",
  sectionTitles: { overview: "Overview", findings: "Findings", access: "Access", activity: "Activity", maintenance: "Maintenance" },
  groups: "Groups",
  repos: "Repos",
  noGroupsText: "Groups divide an organization into teams or products. A role binding at a group applies to everything below it.",
  noReposTitle: "No repos here",
  noReposText: "Push an image to create the first one:",
  newGroupHint: "“New group” creates one.",
  nameHint: "Lowercase letters, digits, spaces, periods, underscores and hyphens.",
  descriptionOptional: "Description (optional)",
  groupCreated: "Group created",
  renameText: "Images are pulled by this name. Pulls by the earlier name fail from then on.",
  nameFixed: "The name of a verified organization is its domain and cannot be changed.",
  authorApproval: "Authors may approve their own advisories",
  groupChanged: "Group changed",
  edit: "Edit",
  delete: "Delete",
  deleteGroupText: "Its role bindings, invites and webhook subscriptions are deleted along. It must have no identities, custom roles or identity providers.",
  stillHas: (groups: number, repos: number): string =>
    `It still has ${list.format([
      ...(groups > 0 ? [counted(groups, "group", "groups")] : []),
      ...(repos > 0 ? [counted(repos, "repo", "repos")] : []),
    ])}. Delete them first.`,
  undoByOperator: "Only the operator of the server can restore an organization.",
  groupDeleted: "Group deleted",
  severalTitle: "Several groups have this path",
  severalText: "You can see more than one group with these names. Choose one; its address contains the uid.",
} as const;
