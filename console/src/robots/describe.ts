// What a machine identity is for, told from its match.

import type { Identity } from "../../../client/package.ts";
import type { CiSystem } from "../../../base/ci-presets.ts";

/** "other": tokens of any other issuer; "pullToken" and "keys": static keys. */
export type RobotKind = CiSystem | "other" | "pullToken" | "keys";

const kindOfIssuer: Readonly<Record<string, CiSystem>> = {
  "https://token.actions.githubusercontent.com": "github",
  "https://gitlab.com": "gitlab",
  "https://agent.buildkite.com": "buildkite",
};

/** Starts of subjects, for systems that have their own issuers. */
const kindOfSubject: readonly (readonly [RegExp, CiSystem])[] = [
  [/^\^?repo:/, "github"],
  [/^\^?project_path:/, "gitlab"],
  [/^\^?system:serviceaccount:/, "kubernetes"],
  [/^\^?organization:[^:]+:pipeline:/, "buildkite"],
  [/^\^?https?:\/\/.*\/job\//, "jenkins"],
];

export const kindOf = ({ claimMatch, staticKeys, awsIdentity }: Identity): RobotKind => {
  if (awsIdentity) return "awsRole";
  if (staticKeys) return staticKeys.issuer.endsWith("/pull-tokens") ? "pullToken" : "keys";
  const subject = claimMatch?.subject ?? claimMatch?.subjectPattern ?? "";
  return kindOfIssuer[claimMatch?.issuer ?? ""] ?? kindOfSubject.find(([pattern]) => pattern.test(subject))?.[1] ?? "other";
};

/** What tokens must match, by the name of each claim. Values of patterns are RE2. */
export const matchOf = ({ claimMatch, staticKeys, awsIdentity }: Pick<Identity, "claimMatch" | "staticKeys" | "awsIdentity">): readonly Claim[] => {
  if (awsIdentity)
    return [
      { name: "account", value: awsIdentity.awsAccount, isPattern: false },
      ...claim("ARN", awsIdentity.arn, awsIdentity.arnPattern),
      ...claim("user ID", awsIdentity.userId, awsIdentity.userIdPattern),
    ];
  if (staticKeys) return [...claim("iss", staticKeys.issuer, undefined), ...claim("sub", staticKeys.subject, undefined)];
  if (!claimMatch) return [];
  return [
    ...claim("iss", claimMatch.issuer, claimMatch.issuerPattern),
    ...claim("sub", claimMatch.subject, claimMatch.subjectPattern),
    ...claim("aud", claimMatch.audience, claimMatch.audiencePattern),
    ...Object.entries(claimMatch.claims).map(([name, value]) => ({ name, value, isPattern: false })),
    ...Object.entries(claimMatch.claimPatterns).map(([name, value]) => ({ name, value, isPattern: true })),
  ];
};

export interface Claim {
  readonly name: string;
  readonly value: string;
  readonly isPattern: boolean;
}

const claim = (name: string, value: string | undefined, pattern: string | undefined): Claim[] => {
  if (value) return [{ name, value, isPattern: false }];
  return pattern ? [{ name, value: pattern, isPattern: true }] : [];
};

/** The claim that says most: the subject, or the role in AWS. */
export const subjectOf = (identity: Identity): string => matchOf(identity).find(({ name }) => name === "sub" || name === "ARN")?.value ?? "";

/** When a token was last issued; undefined if there was none since the identity was made. */
export const lastUseOf = ({ lastSeenTime, createTime }: Identity): string | undefined => (lastSeenTime === createTime ? undefined : lastSeenTime);

/** When it stops working: its own end, or that of its keys. */
export const expiryOf = ({ expireTime, staticKeys }: Identity): string | undefined =>
  [expireTime, staticKeys?.expirationTime].filter((each) => each !== undefined).sort((one, other) => Date.parse(one) - Date.parse(other))[0];
