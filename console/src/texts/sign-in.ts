// Texts of the page without a session.

import { texts as first } from "../texts.ts";

export const texts = {
  ...first,

  signIn: "Sign in",
  signInTitle: "Sign in to Gantry",
  signInText: "You continue at your organization's identity provider and come back here.",
  useToken: "Use an access token instead",
  useTokenText: "On a new server there is no identity provider yet. This command on the server's machine opens this page with a token:",
  pasteTokenText: "Or paste the output of npx gantry token. It stays in this tab's memory.",
  token: "Access token",
  tokenInvalid: "This is not an access token. It has three parts with dots between them.",
  useIt: "Continue",
  offerTitle: "Continue as",
  offerText: "Continue only if you have just run gantry open yourself. Anyone can send a link like this one.",
  operator: "The operator",
  operatorText: "The operator has all permissions on this server.",
  insecure: "The browser can sign in over HTTPS or on the server's own machine only. Ask the operator for an HTTPS address, or use an access token.",
} as const;
