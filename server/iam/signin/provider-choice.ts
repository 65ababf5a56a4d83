// Choice of the identity provider: a page for sign-ins that name none, and a part of confirmation pages.

import type { EndpointAnswer } from "#base/endpoint.ts";
import type { OfferedProvider } from "#iam/store";
import { escapeHtml, refusalPage } from "./pages.ts";
import { hostOfIssuer, nameHtml } from "./person.ts";
import type { ProviderQuestion } from "./requested-provider.ts";
import type { SignInSettings } from "./settings.ts";

/** Marks requests from the page's form, which must not redirect to another site (confirm.ts: redirectByPage). */
export const chosenParameter = "chosen";

// Providers of another service: refused next to idp_id, ignored without it.
const answeredParameters = new Set(["idp_id", "client_id", "connection", chosenParameter]);

const alertHtml = (problem: string): string => (problem === "" ? "" : `<p role="alert" id="problem">${escapeHtml(problem)}</p>`);

export const problemAttributes = (problem: string): string => (problem === "" ? "" : ' aria-invalid="true" aria-describedby="problem"');

const labelHtml = ({ name, issuer }: OfferedProvider): string => `${nameHtml(name)} <small>at ${escapeHtml(hostOfIssuer(issuer))}</small>`;

const typedHtml = ({ typed, problem }: ProviderQuestion): string =>
  // Not required, so that refusing needs no input.
  '<p><label for="idp_id">Your organization</label>' +
  `<input id="idp_id" name="idp_id" value="${escapeHtml(typed)}" autocomplete="organization" autocapitalize="none" spellcheck="false"` +
  `${problemAttributes(problem)}><small>Its verified name, such as example.com, or the uid of its identity provider</small></p>`;

/** Returns form fields: radio buttons for the offered providers, or a text field. */
export const providerFields = (question: ProviderQuestion): string => {
  const { offered, problem } = question;
  if (offered.length === 0) return `${alertHtml(problem)}${typedHtml(question)}`;
  const radios = offered.map((each, index) => {
    const checked = index === 0 && offered.length === 1 ? " checked" : "";
    return `<label class="choice"><input type="radio" name="idp_id" value="${escapeHtml(each.uid)}"${checked}><span>${labelHtml(each)}</span></label>`;
  });
  return `${alertHtml(problem)}<fieldset><legend>Sign in with</legend>${radios.join("")}</fieldset>`;
};

/**
 * Returns the page for a sign-in at `path` without a provider, keeping its other parameters. `cancel` is the link for canceling, ""
 * for none. `answered` lists parameters to drop.
 */
export const choicePage = (
  { publicUrl }: SignInSettings,
  path: string,
  parameters: URLSearchParams,
  question: ProviderQuestion,
  cancel: string,
  answered: ReadonlySet<string> = answeredParameters,
): EndpointAnswer => {
  const kept = [...parameters].filter(([name]) => !answered.has(name));
  const { host } = new URL(publicUrl);
  const { offered, problem, fault } = question;
  const cancelHtml = cancel === "" ? "" : `<a class="button secondary" href="${escapeHtml(cancel)}">Cancel</a>`;
  const actionsHtml = (first: string): string => (first + cancelHtml === "" ? "" : `<p class="actions">${first}${cancelHtml}</p>`);
  const links = offered.map((each) => {
    const address = `${path}?${new URLSearchParams([...kept, ["idp_id", each.uid]])}`;
    return `<li><a class="button" href="${escapeHtml(address)}">${labelHtml(each)}</a></li>`;
  });
  const hidden = [...kept, [chosenParameter, "true"]]
    .map(([name = "", value = ""]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`)
    .join("");
  const answers =
    offered.length > 0
      ? `<ul class="actions providers">${links.join("")}</ul>${actionsHtml("")}`
      : `<form method="get" action="${path}">${hidden}${typedHtml(question)}${actionsHtml("<button>Continue</button>")}</form>`;
  const paragraph = offered.length > 0 ? `Choose how to sign in to ${host}.` : `Sign in to ${host} with the account that your organization gave you.`;
  return refusalPage(fault, problem === "" ? 200 : 400, "Sign in", [paragraph], `${alertHtml(problem)}${answers}`);
};
