// Texts of the user's own account.

import { texts as shared } from "./pages.ts";

export const texts = {
  ...shared,

  ownSessions: "Your sessions",
  noOwnSessionsTitle: "No session to list",
  noOwnSessionsText: "Your access token does not come from a sign-in in a browser.",
  endOwnText: "You are signed out here and have to sign in again.",
  memberships: "Organizations",
  membershipsText: "An organization can add you without asking. Its role bindings take effect, and it sees your name and email address, only after you accept.",
  noMembershipsTitle: "No organizations",
  noMembershipsText: "No organization has added you.",
  membershipStates: {
    MEMBERSHIP_STATE_UNSPECIFIED: "Unknown",
    MEMBERSHIP_STATE_PENDING: "Pending",
    MEMBERSHIP_STATE_ACCEPTED: "Member",
    MEMBERSHIP_STATE_DECLINED: "Declined",
  },
  since: "Since",
  answer: "Answer",
  accept: "Accept",
  decline: "Decline",
  acceptOf: (organization: string): string => `Accept membership in ${organization}`,
  declineOf: (organization: string): string => `Decline membership in ${organization}`,
  acceptText: "The role bindings take effect. The organization sees your name, your email address and your sign-ins.",
  declineText: "The role bindings stay without effect, and you are not asked again. You can accept later.",
  accepted: "Membership accepted",
  declined: "Membership declined",
} as const;
