// Opens sign-in: its browser paths, and OAuth's token and device endpoints.

import type { ClientPurpose } from "#authn";
import type { Endpoint, EndpointAnswer, EndpointRequest } from "#base/endpoint.ts";
import { Fault, invalid, type Violation } from "#base/fault.ts";
import type { JsonObject } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import { keyForAddress } from "#kernel";
import { codeCompleter } from "./authorization-code.ts";
import { answerConsoleSession, consoleSessionPath } from "./console-session.ts";
import { answerAuthorizeQuestion, authorizePath, showAuthorizeQuestion } from "./authorize-pages.ts";
import { beginSignIn, endInvitedSignIn, endSignIn, refuseSharedCallback, refuseSignIn, signInPath, type SignInRequest } from "./browser.ts";
import type { HeadlessCompletion, RedirectCompletion } from "./completion.ts";
import type { SignInDependencies } from "./dependencies.ts";
import { beginDevice, deviceCompleter, devicePath } from "./device.ts";
import { type DeviceEndpoint, deviceEndpoint } from "./device-pages.ts";
import { headlessCompleter, isHeadlessCode } from "./headless.ts";
import { redirectByPage } from "./confirm.ts";
import { answerLoopback, loopbackPath } from "./loopback-pages.ts";
import { type AskHeadless, showHeadlessConfirmation, confirmHeadless, headlessPath } from "./headless-pages.ts";
import { invitePath } from "./invite-pages.ts";
import { answerMembershipQuestion, membershipsPath } from "./membership-pages.ts";
import { singleParameter } from "./oauth-parameters.ts";
import { openOpenRows } from "./open-rows.ts";
import { jsonAnswer, refusalPage, sentenceOf, throttledPage } from "./pages.ts";
import { hostOfIssuer } from "./person.ts";
import { callbackPath, openProviders, providerOfCallback } from "./provider.ts";
import { readRedirect, redirectCompleter } from "./redirect.ts";
import { chosenParameter, choicePage } from "./provider-choice.ts";
import { openRegistryTokens, type RegistryTokenRequest } from "./registry-token.ts";
import { findOfferedProviders, isOrganizationWithProvider, openProviderQuestion, unanswered } from "./requested-provider.ts";
import { revocationPath, revoke } from "./revocation-endpoint.ts";
import { type SignInSettings, urlOfPath } from "./settings.ts";
import { type Grant, openTokenEndpoint } from "./token-endpoint.ts";
import { openUserCodeGuesses } from "./user-code-guesses.ts";

/** Handlers for the transport; each throws a Fault. */
export interface SignInEndpoints {
  readonly discovery: () => JsonObject;
  readonly authorizationServer: () => JsonObject;
  readonly keys: () => Promise<JsonObject>;
  readonly exchangeToken: Grant;
  /** Token for a registry client (oci: 4). */
  readonly registryToken: (request: RegistryTokenRequest) => Promise<JsonObject>;
  /** RFC 7009: revokes the session of a token. */
  readonly revoke: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** RFC 8628 §3.1: issues device codes. */
  readonly beginDevice: (form: URLSearchParams, from: RequestSource) => Promise<JsonObject>;
  /** Pages and JSON endpoints, by path. */
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** Returns the endpoint of a path that contains a UID, if any. */
  readonly endpointAt: (path: string) => Endpoint | undefined;
}

const listParameter = (parameters: URLSearchParams, name: string): string[] =>
  parameters
    .getAll(name)
    .flatMap((entry) => entry.split(/[ ,]/))
    .filter((entry) => entry !== "");

const flagParameter = (parameters: URLSearchParams, name: string): boolean => {
  const value = singleParameter(parameters, name);
  if (!["", "true", "false"].includes(value)) throw invalid([{ field: name, description: "must be true or false" }]);
  return value === "true";
};

/** Read first, because all other errors are reported through it. */
const readCompletion = (settings: SignInSettings, parameters: URLSearchParams): RedirectCompletion | HeadlessCompletion => {
  const requestedToken = {
    audience: listParameter(parameters, "audience"),
    scopes: listParameter(parameters, "scope"),
    capabilities: listParameter(parameters, "cap"),
  };
  const code = singleParameter(parameters, "headless_code");
  if (code !== "") {
    if (!isHeadlessCode(code)) throw invalid([{ field: "headless_code", description: "must be an X25519 public key, as base64url without padding" }]);
    return { kind: "headless", code, requestedToken };
  }
  return {
    kind: "redirect",
    redirect: readRedirect(settings, singleParameter(parameters, "redirect")),
    requestedToken,
    createRefreshToken: flagParameter(parameters, "create_refresh_token"),
  };
};

const readSignInRequest = ({ authn }: SignInSettings, parameters: URLSearchParams, completion: RedirectCompletion | HeadlessCompletion): SignInRequest => {
  const violations: Violation[] = [];
  const provider = singleParameter(parameters, "idp_id").trim();
  for (const name of ["client_id", "connection"]) {
    // Without idp_id they are ignored and the user chooses a provider: the platform's clients send one by default.
    if (provider !== "" && parameters.has(name))
      violations.push({ field: name, description: "names a provider of another service; this server has those of its organizations: give idp_id" });
  }
  if (violations.length > 0) throw invalid(violations);
  const identity = singleParameter(parameters, "identity");
  authn.readDownscoping({ identity, ...completion.requestedToken });
  return {
    provider,
    completion,
    invite: singleParameter(parameters, "invite"),
    identity,
    skipRegistration: flagParameter(parameters, "skip_registration"),
  };
};

/** Undefined if the request names a provider. Throws if a program at a loopback address named an unknown one, so that it gets the error. */
const askForProvider = async (
  dependencies: SignInDependencies,
  parameters: URLSearchParams,
  { provider }: SignInRequest,
  completion: RedirectCompletion,
): Promise<EndpointAnswer | undefined> => {
  const question = await openProviderQuestion(dependencies, provider);
  if (!question) return undefined;
  if (question.isUnknown && completion.redirect !== "" && !parameters.has(chosenParameter)) throw question.fault;
  // Canceling completes the sign-in with an error, like any refusal.
  const { headers } = await dependencies.completers.redirect.refuse(
    dependencies,
    { status: dependencies.statusOf(question.fault), fault: question.fault },
    completion,
  );
  return choicePage(dependencies, signInPath, parameters, parameters.has(chosenParameter) ? unanswered(question) : question, headers.location ?? "");
};

/** `ask`: confirmation page of a headless sign-in. */
const beginFromParameters = async (
  dependencies: SignInDependencies,
  parameters: URLSearchParams,
  requestSource: RequestSource,
  ask: AskHeadless,
): Promise<EndpointAnswer> => {
  let completion: RedirectCompletion | HeadlessCompletion;
  try {
    completion = readCompletion(dependencies, parameters);
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown;
    // Shown here only: the redirect URI may be an attacker's.
    return refusalPage(thrown, dependencies.statusOf(thrown), "This sign-in cannot begin", [sentenceOf(thrown.message)]);
  }
  try {
    const request = readSignInRequest(dependencies, parameters, completion);
    const page =
      completion.kind === "headless"
        ? await ask({ ...request, requestedToken: completion.requestedToken })
        : await askForProvider(dependencies, parameters, request, completion);
    return page ?? (await beginSignIn(dependencies, request, requestSource));
  } catch (thrown) {
    return refuseSignIn(dependencies, thrown, completion, requestSource);
  }
};

/** Queues database work under the client's address. */
const ownOf = (dependencies: SignInDependencies, { origin: { address } }: RequestSource): SignInDependencies => {
  const { store } = dependencies;
  return { ...dependencies, store: { ...store, ...store.forParty(keyForAddress(address)) } };
};

const tokenParameters = ["token", "access_token", "id_token", "refresh_token"];

/** The identity provider could learn a token in the request. */
const withoutToken =
  (answer: (own: SignInDependencies, request: EndpointRequest) => Promise<EndpointAnswer>) =>
  async (own: SignInDependencies, request: EndpointRequest): Promise<EndpointAnswer> => {
    const { query, form, headers } = request;
    const found = tokenParameters.find((name) => query.has(name) || form.has(name));
    if (found === undefined && !/^bearer /i.test(headers.authorization ?? "")) return answer(own, request);
    const fault = new Fault(
      "INVALID_ARGUMENT",
      `a sign-in does not accept a token: remove ${found === undefined ? "the header Authorization" : `the parameter ${found}`}`,
    );
    return refusalPage(fault, own.statusOf(fault), "This sign-in cannot begin", [sentenceOf(fault.message)]);
  };

const limitedPage =
  (dependencies: SignInDependencies, purpose: ClientPurpose, answer: (own: SignInDependencies, request: EndpointRequest) => Promise<EndpointAnswer>) =>
  async (request: EndpointRequest): Promise<EndpointAnswer> => {
    try {
      dependencies.authn.clientLimits.take(purpose, request.origin.address);
    } catch (thrown) {
      if (thrown instanceof Fault) return throttledPage(thrown);
      throw thrown;
    }
    return answer(ownOf(dependencies, request), request);
  };

const chosenByForm = ({ query }: EndpointRequest, answer: EndpointAnswer): EndpointAnswer => (query.has(chosenParameter) ? redirectByPage(answer) : answer);

const deviceEndpointOf = (own: SignInDependencies): DeviceEndpoint =>
  deviceEndpoint(own, (request, { userCode, request: { idp } }) =>
    beginSignIn(own, { provider: idp, completion: { kind: "device", userCode }, invite: "", identity: "", skipRegistration: false }, request),
  );

export const openSignIn = (services: Omit<SignInSettings, "openRows" | "userCodeGuesses">): SignInEndpoints => {
  const { authn, store, clock, consoleBuild } = services;
  const settings: SignInSettings = { ...services, openRows: openOpenRows(authn.clientLimits), userCodeGuesses: openUserCodeGuesses(store, clock) };
  const dependencies: SignInDependencies = {
    ...settings,
    providers: openProviders(settings),
    completers: { redirect: redirectCompleter, device: deviceCompleter, headless: headlessCompleter, code: codeCompleter },
  };
  const { grantTypes } = openTokenEndpoint(settings);
  const metadata = (): JsonObject => ({
    ...authn.discovery(),
    revocation_endpoint: urlOfPath(settings, revocationPath),
    revocation_endpoint_auth_methods_supported: ["none"],
    authorization_endpoint: urlOfPath(settings, authorizePath),
    device_authorization_endpoint: urlOfPath(settings, "/oauth/device_authorization"),
    grant_types_supported: [...grantTypes],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    scopes_supported: ["offline_access"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  return {
    // OpenID Connect Discovery §3: verifiers of tokens require id_token, which /oauth returns.
    discovery: () => ({ ...metadata(), response_types_supported: ["code", "id_token"] }),
    authorizationServer: metadata,
    keys: authn.keys,
    exchangeToken: (form, authorization, from) => openTokenEndpoint(ownOf(dependencies, from)).answer(form, authorization, from),
    registryToken: (request) => openRegistryTokens(ownOf(dependencies, request.from))(request),
    revoke: (form, from) => revoke(ownOf(dependencies, from), form, from),
    beginDevice: (form, from) => beginDevice(ownOf(dependencies, from), form, from),
    endpointAt: (path) => {
      if (path === consoleSessionPath && consoleBuild) {
        const POST = async (request: EndpointRequest): Promise<EndpointAnswer> => {
          authn.clientLimits.take("exchanges", request.origin.address);
          return answerConsoleSession(ownOf(dependencies, request), request, await consoleBuild());
        };
        return { name: consoleSessionPath, POST };
      }
      const uid = providerOfCallback(path);
      if (uid === undefined) return undefined;
      return { name: callbackPath, GET: limitedPage(dependencies, "sign-in-answers", (own, request) => endSignIn(own, request, uid)) };
    },
    endpoints: new Map<string, Endpoint>([
      [
        signInPath,
        {
          GET: limitedPage(
            dependencies,
            "open-reads",
            withoutToken(async (own, request) =>
              chosenByForm(request, await beginFromParameters(own, request.query, request, (headless) => showHeadlessConfirmation(own, request, headless))),
            ),
          ),
        },
      ],
      [
        headlessPath,
        {
          POST: limitedPage(
            dependencies,
            "open-reads",
            withoutToken((own, request) => confirmHeadless(own, request, (parameters, ask) => beginFromParameters(own, parameters, request, ask))),
          ),
        },
      ],
      [
        authorizePath,
        {
          GET: limitedPage(dependencies, "open-reads", withoutToken(showAuthorizeQuestion)),
          POST: limitedPage(dependencies, "open-reads", withoutToken(answerAuthorizeQuestion)),
        },
      ],
      [membershipsPath, { POST: limitedPage(dependencies, "open-reads", answerMembershipQuestion) }],
      [loopbackPath, { POST: limitedPage(dependencies, "open-reads", (own, request) => answerLoopback(own, request, refuseSignIn)) }],
      [invitePath, { POST: limitedPage(dependencies, "sign-in-answers", endInvitedSignIn) }],
      [callbackPath, { GET: limitedPage(dependencies, "sign-in-answers", refuseSharedCallback) }],
      [
        devicePath,
        {
          GET: limitedPage(dependencies, "open-reads", (own, request) => deviceEndpointOf(own).GET(request)),
          POST: limitedPage(
            dependencies,
            "open-reads",
            withoutToken((own, request) => deviceEndpointOf(own).POST(request)),
          ),
        },
      ],
      [
        "/orgcheck",
        {
          GET: async (request) => {
            authn.clientLimits.take("open-reads", request.origin.address);
            const { read } = ownOf(dependencies, request).store;
            return jsonAnswer(200, await isOrganizationWithProvider(read, singleParameter(request.query, "name")));
          },
        },
      ],
      [
        "/oauth/providers",
        {
          GET: async (request) => {
            authn.clientLimits.take("open-reads", request.origin.address);
            const providers = await findOfferedProviders(ownOf(dependencies, request), singleParameter(request.query, "name").trim());
            return jsonAnswer(200, { providers: providers.map(({ uid, name, issuer }) => ({ uid, name, host: hostOfIssuer(issuer) })) });
          },
        },
      ],
    ]),
  };
};
