// Authorization endpoint (RFC 6749 §4.1.1) and its consent page.
//
//   GET    shows the request, sealed into the form, with a cookie
//   POST   the answer, with the page's proof: redirects to the identity provider or back to the client
//
// Anyone can be a client, so nothing redirects to one before the user has answered (open redirectors, RFC 9700 §4.11.2). Exceptions
// are own pages, listed clients and loopback addresses.

import type { EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault, invalid } from "#base/fault.ts";
import { visibleText } from "#base/html.ts";
import { limits } from "#base/limits.ts";
import { isLoopbackAddress } from "#base/redirect-address.ts";
import type { Binding } from "#db";
import { errorAddress } from "./authorization-code.ts";
import { beginSignIn } from "./browser.ts";
import { checkRedirect, type Client, findClient } from "./clients.ts";
import type { CodeCompletion } from "./completion.ts";
import { grantTexts, isConfirmed, questionPage, redirectByPage, unconfirmedPage } from "./confirm.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { oauthFault, readScope, readSingleParameters, singleParameter } from "./oauth-parameters.ts";
import { escapeHtml, redirectTo, refusalPage, sentenceOf, throttledPage } from "./pages.ts";
import { nameHtml } from "./person.ts";
import { chosenParameter, choicePage, providerFields } from "./provider-choice.ts";
import { openProviderQuestion, type ProviderQuestion, unanswered } from "./requested-provider.ts";
import { audienceOfResource } from "./resources.ts";

export const authorizePath = "/oauth/authorize";

const sealPurpose = "authorization request";
/** The form's proof covers the sealed text and the cookie (confirm.ts). */
const boundToNothing: Binding = [];

/** Carried by the form, sealed. */
interface AuthorizationQuestion {
  readonly completion: CodeCompletion;
  /** UID of a provider, or a verified organization's name; "" if the user chooses. */
  readonly idp: string;
}

interface SealedQuestion extends AuthorizationQuestion {
  readonly client: Pick<Client, "kind" | "name" | "host">;
  readonly untilMs: number;
}

/** RFC 6749 §4.1.2.1: an error without a redirect. */
const cannotBegin = (dependencies: SignInDependencies, fault: Fault): EndpointAnswer =>
  refusalPage(fault, dependencies.statusOf(fault), "This sign-in cannot begin", [
    sentenceOf(fault.message),
    "A program or a page sent you here. The mistake is there, or someone is using its name.",
  ]);

type Addressed = Pick<CodeCompletion, "redirectUri" | "state">;

const readAddressed = async (dependencies: SignInDependencies, { query, origin }: EndpointRequest): Promise<{ client: Client; addressed: Addressed }> => {
  const id = singleParameter(query, "client_id");
  if (id === "") throw invalid([{ field: "client_id", description: "is required: the address of the client's document" }]);
  const redirectUri = singleParameter(query, "redirect_uri");
  if (redirectUri === "") throw invalid([{ field: "redirect_uri", description: "is required" }]);
  const client = await findClient(dependencies, id, origin.address);
  checkRedirect(client, redirectUri);
  const [state = "", another] = query.getAll("state");
  return { client, addressed: { redirectUri, state: another === undefined && state.length <= limits.authorizationStateLengthMax ? state : "" } };
};

const readQuestion = (dependencies: SignInDependencies, { id }: Client, addressed: Addressed, query: URLSearchParams): AuthorizationQuestion => {
  const { values, violations } = readSingleParameters(query, {
    response_type: 64,
    response_mode: 64,
    code_challenge: limits.tokenBytesMax,
    code_challenge_method: 64,
    state: limits.authorizationStateLengthMax,
    scope: limits.tokenBytesMax,
    idp_id: limits.uidLengthMax,
  });
  for (const name of ["request", "request_uri"] as const)
    if (query.has(name)) throw oauthFault(`${name}_not_supported`, `the parameter ${name} is not supported`);
  if (values.response_type !== "code" && values.response_type !== "") throw oauthFault("unsupported_response_type", "response_type must be code");
  if (values.response_type === "") violations.push({ field: "response_type", description: "is required, and must be code" });
  if (!["", "query"].includes(values.response_mode)) violations.push({ field: "response_mode", description: "must be query" });
  // The default would be "plain" (RFC 7636 §4.3), which any reader of the request can satisfy.
  if (values.code_challenge_method !== "S256") violations.push({ field: "code_challenge_method", description: "must be S256" });
  if (!/^[A-Za-z0-9_-]{43}$/.test(values.code_challenge))
    violations.push({ field: "code_challenge", description: "must be the SHA-256 of the verifier, as base64url without padding" });
  if (violations.length > 0) throw invalid(violations);
  const { scopes, capabilities, refresh, granted } = readScope(dependencies.authn, values.scope);
  const audience = [audienceOfResource(dependencies, query.getAll("resource"))];
  return {
    idp: values.idp_id.trim(),
    completion: {
      kind: "code",
      client: id,
      ...addressed,
      challenge: values.code_challenge,
      requestedToken: { audience, scopes, capabilities },
      scope: granted,
      refresh,
    },
  };
};

/** Redirects to the client only if that is safe. */
const refuseRequest = (dependencies: SignInDependencies, client: Client, addressed: Addressed, fault: Fault): EndpointAnswer => {
  const back = errorAddress(dependencies, addressed, fault);
  const url = new URL(addressed.redirectUri);
  if (client.kind !== "document" || isLoopbackAddress(url)) return redirectTo(back);
  const where = url.host === "" ? "the program" : url.host;
  return refusalPage(
    fault,
    dependencies.statusOf(fault),
    "This sign-in cannot begin",
    [`${client.host} sent you here with an invalid request. ${sentenceOf(fault.message)}`],
    `<p class="actions"><a class="button secondary" href="${escapeHtml(back)}">Back to ${escapeHtml(where)}</a></p>`,
  );
};

const destinationText = (redirectUri: string, { host }: Pick<Client, "host">): string => {
  const url = new URL(redirectUri);
  if (isLoopbackAddress(url)) return "Your sign-in goes to a program on this computer.";
  if (url.host === "" || url.protocol !== "https:") return `Your sign-in goes to the program on this device that opens ${url.protocol} addresses.`;
  return host === "" || url.host === host ? `Your sign-in goes to ${url.host}.` : `Your sign-in goes to another host: ${url.host}.`;
};

const consentPage = (
  dependencies: SignInDependencies,
  request: EndpointRequest,
  question: SealedQuestion,
  provider: ProviderQuestion | undefined,
): EndpointAnswer => {
  const { completion, client } = question;
  const { host: ownHost } = new URL(dependencies.publicUrl);
  const sealed = dependencies.vault.seal(sealPurpose, JSON.stringify(question), boundToNothing);
  const isListed = client.kind === "listed";
  const named = visibleText(client.name, limits.shownNameLengthMax) === "" ? "" : `<br>It calls itself ${nameHtml(client.name)}.`;
  const said = isListed ? "<br>The operator of this server has registered it." : named;
  // One host can serve documents of many users, so the full URL is shown, in its canonical ASCII form (client-documents.ts).
  const document = client.kind === "document" ? `<br><small>${escapeHtml(completion.client)}</small>` : "";
  const grants = grantTexts(dependencies, completion.requestedToken, completion.refresh);
  const form =
    // Only the host and the operator's name for a client cannot be forged, so they come first, on a line of their own.
    `<p class="person"><small>Requested by</small><br><strong>${escapeHtml(isListed ? completion.client : client.host)}</strong>${document}${said}</p>` +
    `<p>It asks to act on your behalf on ${escapeHtml(ownHost)}. If you allow it:</p>` +
    `<ul>${grants.map((grant) => `<li>${escapeHtml(grant)}</li>`).join("")}<li>${escapeHtml(destinationText(completion.redirectUri, client))}</li></ul>` +
    "<p><strong>Allow it only if you started this yourself.</strong> If someone sent you here, refuse: that person could act on your behalf.</p>" +
    (provider ? providerFields(provider) : "") +
    '<p class="actions"><button name="answer" value="confirm">Allow</button>' +
    '<button class="secondary" name="answer" value="refuse">Refuse</button></p>';
  const page = questionPage(
    dependencies,
    request,
    sealed,
    { title: "Allow access?", paragraphs: [], path: authorizePath, hidden: [["question", sealed]], form },
    "Lax",
  );
  return (provider?.problem ?? "") === "" ? page : { ...page, status: 400, ...(provider ? { fault: provider.fault } : {}) };
};

const beginCodeSignIn = (dependencies: SignInDependencies, request: EndpointRequest, provider: string, completion: CodeCompletion): Promise<EndpointAnswer> =>
  beginSignIn(dependencies, { provider, completion, invite: "", identity: "", skipRegistration: false }, request);

/** Asks for no consent. */
const beginOwn = async (dependencies: SignInDependencies, request: EndpointRequest, { completion, idp }: AuthorizationQuestion): Promise<EndpointAnswer> => {
  const question = await openProviderQuestion(dependencies, idp);
  if (!question) {
    const answer = await beginCodeSignIn(dependencies, request, idp, completion);
    return request.query.has(chosenParameter) ? redirectByPage(answer) : answer;
  }
  const cancel = errorAddress(dependencies, completion, oauthFault("access_denied", "the person went back"));
  const asked = request.query.has(chosenParameter) ? unanswered(question) : question;
  return choicePage(dependencies, authorizePath, request.query, asked, cancel, new Set(["idp_id", chosenParameter]));
};

/** GET: shows the consent page. */
export const showAuthorizeQuestion = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
  let known: Awaited<ReturnType<typeof readAddressed>>;
  try {
    known = await readAddressed(dependencies, request);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return thrown.code === "RESOURCE_EXHAUSTED" ? throttledPage(thrown) : cannotBegin(dependencies, thrown);
  }
  const { client, addressed } = known;
  try {
    const question = readQuestion(dependencies, client, addressed, request.query);
    if (client.kind === "own") return await beginOwn(dependencies, request, question);
    const untilMs = dependencies.clock() + limits.deviceCodeLifetimeMs;
    const shown = { ...question, client: { kind: client.kind, name: client.name, host: client.host }, untilMs };
    return consentPage(dependencies, request, shown, await openProviderQuestion(dependencies, question.idp));
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    return refuseRequest(dependencies, client, addressed, thrown);
  }
};

const unchangedClient = async (dependencies: SignInDependencies, { origin }: EndpointRequest, { completion, client }: SealedQuestion): Promise<boolean> => {
  try {
    const now = await findClient(dependencies, completion.client, origin.address);
    checkRedirect(now, completion.redirectUri);
    return now.kind === client.kind && now.name === client.name && now.host === client.host;
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "INVALID_ARGUMENT") return false;
    throw thrown;
  }
};

const changedPage = (): EndpointAnswer => {
  const why = "the client has changed since the page was shown";
  return refusalPage(new Fault("FAILED_PRECONDITION", why), 400, "Not allowed", [`${sentenceOf(why)} Start the sign-in again.`]);
};

const answerQuestion = async (dependencies: SignInDependencies, request: EndpointRequest, question: SealedQuestion): Promise<EndpointAnswer> => {
  const { completion } = question;
  if (request.form.get("answer") !== "confirm")
    return redirectByPage(redirectTo(errorAddress(dependencies, completion, oauthFault("access_denied", "the person refused"))));
  if (!(await unchangedClient(dependencies, request, question))) return changedPage();
  const asked = await openProviderQuestion(dependencies, question.idp);
  if (!asked) return redirectByPage(await beginCodeSignIn(dependencies, request, question.idp, completion));
  const idp = (request.form.get("idp_id") ?? "").trim();
  // If the client named an organization, the provider must be one of its providers.
  const isBound = question.idp !== "" && asked.offered.length > 0;
  const open = isBound && !asked.offered.some(({ uid }) => uid === idp) ? asked : await openProviderQuestion(dependencies, idp);
  if (open) return consentPage(dependencies, request, question, unanswered(open));
  return redirectByPage(await beginCodeSignIn(dependencies, request, idp, completion));
};

/** POST: handles the user's answer. */
export const answerAuthorizeQuestion = async (dependencies: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
  const sealed = request.form.get("question") ?? "";
  const opened = isConfirmed(dependencies, request, sealed, "Lax") ? dependencies.vault.open(sealPurpose, sealed, boundToNothing) : undefined;
  const question = opened === undefined ? undefined : (JSON.parse(opened) as SealedQuestion);
  if (!question || question.untilMs <= dependencies.clock()) return unconfirmedPage("Start the sign-in again.");
  try {
    return await answerQuestion(dependencies, request, question);
  } catch (thrown) {
    if (thrown instanceof Fault && thrown.code === "RESOURCE_EXHAUSTED") return throttledPage(thrown);
    throw thrown;
  }
};
