// Texts of a group's own page.

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
  severalTitle: "Several groups have this path",
  severalText: "You can see more than one group with these names. Choose one; its address contains the uid.",
} as const;
