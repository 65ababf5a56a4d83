// Texts of the forms that change repos and tags.

import { counted, list } from "./numbers.ts";
import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  newRepoText: "A push creates a repo, too. Create one first to describe it or to set its rules.",
  nameHint: "Lowercase letters, digits, spaces, periods, underscores and hyphens.",
  descriptionOptional: "Description (optional)",
  repoCreated: "Repo created",
  renameText: "Images are pulled by this name. Pulls by the earlier name fail from then on.",
  anonymousPull: "Allow pulls without a token",
  catalog: "Catalog",
  catalogTier: "Tier",
  catalogTiers: {
    CATALOG_TIER_UNSPECIFIED: "None",
    CATALOG_TIER_APPLICATION: "Application",
    CATALOG_TIER_BASE: "Base image",
    CATALOG_TIER_FIPS: "FIPS",
    CATALOG_TIER_AI: "AI",
    CATALOG_TIER_DEVTOOLS: "Developer tools",
    CATALOG_TIER_COMMERCIAL: "Commercial",
  },
  bundles: "Bundles",
  aliases: "Aliases",
  activeTags: "Active tags",
  listHints: {
    bundles: "Such as base, application or fips, with commas between them.",
    aliases: "References under which the image is known elsewhere: docker.io/library/nginx:latest",
    activeTags: "Tags that you keep up to date, with commas between them.",
  },
  repoChanged: "Repo changed",
  readme: "Readme",
  noReadme: "The repo has no readme.",
  readmeHint: "Text in Markdown. Without text, the repo has no readme.",
  readmeChanged: "Readme changed",

  pointsTo: "points to",
  moveText: "The next pull of the tag gets the other image. Its history keeps the earlier one.",
  moveTo: "New image",
  moveHint: "Choose an image by its tag, or paste a digest.",
  digestHint: "A digest of this repo: sha256 and 64 hexadecimal digits.",
  tagMoved: "Tag moved",

  promoteText: "Copies the image with its signatures, SBOMs and other referrers, and points a tag to it. All of it becomes visible at once.",
  targetRepo: "To the repo",
  targetHint: "Type a part of its name, or a path such as acme/prod/app. A path without a repo is created.",
  targetTag: "Tag there",
  tagRequired: "The name of the tag.",
  sameImage: "The tag points to this image already.",
  movesFrom: (digest: string): string => `The tag exists and moves from ${digest}.`,
  targetMoved: "Somebody has moved the tag since the form showed it. Nothing was written. Its image now is shown below.",
  promoted: "Image promoted",
  promotedText: (manifests: number): string => `${counted(manifests, "manifest", "manifests")} copied.`,
  pointedBefore: "The tag pointed to another image before:",
  keptTags: (names: readonly string[]): string => `Left as they were, because they have another digest there: ${list.format(names)}.`,
  openTarget: "Open the tag",
} as const;
