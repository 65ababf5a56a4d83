// The issuer's paths: what authn does for whoever brings a token, and what sign-ins add to it.

import { Fault } from "#base/fault.ts";
import { type JsonObject, texts } from "#base/json.ts";
import type { RequestSource } from "#base/origin.ts";
import type { Services } from "#kernel";
import { isRefusal } from "#outbox";
import { recordExchange, type SignIn, tokenPath } from "#signin";
import type { IssuerEndpoints } from "#transport";

/** A token for a token, with its line in the audit log. */
const exchange = async (services: Services, form: URLSearchParams, authorization: string | undefined, requestSource: RequestSource): Promise<JsonObject> => {
  const { answer, exchanged } = await services.authn.exchangeForm(form, authorization);
  await recordExchange(services, exchanged, tokenPath, requestSource);
  return answer;
};

export const issuerEndpoints = (services: Services, { grants, beginDevice, paths }: SignIn): IssuerEndpoints => {
  const { authn, audit, publicUrl } = services;
  const known = authn.discovery();
  const exchanges = texts(known, "grant_types_supported");
  const grantTypes = [...exchanges, ...grants.keys()];
  return {
    discovery: () => ({
      ...known,
      device_authorization_endpoint: `${publicUrl.replace(/\/+$/, "")}/oauth/device_authorization`,
      grant_types_supported: grantTypes,
    }),
    keys: authn.keys,
    exchangeToken: async (form, authorization, requestSource) => {
      const type = form.get("grant_type") ?? "";
      const grant = grants.get(type);
      if (!grant && type !== "" && !exchanges.includes(type)) {
        throw new Fault("INVALID_ARGUMENT", `grant_type must be one of ${grantTypes.join(", ")}`, {
          details: [{ kind: "reason", reason: "unsupported_grant_type" }],
        });
      }
      try {
        return await (grant ? grant(form, requestSource) : exchange(services, form, authorization, requestSource));
      } catch (thrown) {
        if (thrown instanceof Fault && isRefusal(thrown))
          audit.recordRefusal({ caller: undefined, operation: tokenPath, subject: "", code: thrown.code, requestSource });
        throw thrown;
      }
    },
    beginDevice,
    endpoints: paths,
  };
};
