// The page without a session.

import { type FormEvent, type ReactNode, useState } from "react";
import { Icon, nameOr } from "./parts.tsx";
import { acceptOffer, canSignIn, declineOffer, holdToken, type Offer, signIn } from "./session.ts";
import { texts } from "./texts/sign-in.ts";

/** Asks whether to continue as the account whose token a program offers: anyone can send such a link. */
export const OfferPage = ({ offer }: { readonly offer: Offer }): ReactNode => {
  const { uid, name, email, operator } = offer.account;
  return (
    <main className="sign-in" id="main">
      <div className="card">
        <span className="mark">
          <Icon name="repo" />
        </span>
        <h1 tabIndex={-1}>{texts.offerTitle}</h1>
        <p className="sentence">
          <strong>{operator ? texts.operator : nameOr(name || email, uid)}</strong>
        </p>
        {operator ? <p>{texts.operatorText}</p> : <code>{uid}</code>}
        <p>{texts.offerText}</p>
        <button type="button" className="button primary" onClick={() => void acceptOffer(offer)}>
          {texts.useIt}
        </button>
        <button type="button" className="button" onClick={declineOffer}>
          {texts.cancel}
        </button>
      </div>
    </main>
  );
};

export const SignInPage = ({ notice }: { readonly notice: string }): ReactNode => {
  const [problem, setProblem] = useState("");
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const value = new FormData(event.currentTarget).get("token");
    setProblem(typeof value === "string" && holdToken(value) ? "" : texts.tokenInvalid);
  };
  return (
    <main className="sign-in" id="main">
      <div className="card">
        <span className="mark">
          <Icon name="repo" />
        </span>
        <h1 tabIndex={-1}>{texts.signInTitle}</h1>
        {notice === "" ? null : (
          <p className="notice" role="status">
            {notice}
          </p>
        )}
        {canSignIn() ? (
          <>
            <p>{texts.signInText}</p>
            <button type="button" className="button primary" onClick={() => void signIn()}>
              {texts.signIn}
            </button>
          </>
        ) : (
          <p>{texts.insecure}</p>
        )}
        <details>
          <summary>{texts.useToken}</summary>
          <p className="quiet">{texts.useTokenText}</p>
          <pre>npx gantry open --operator</pre>
          <p className="quiet">{texts.pasteTokenText}</p>
          <form onSubmit={submit}>
            <label htmlFor="token">{texts.token}</label>
            <textarea id="token" name="token" rows={3} autoComplete="off" spellCheck={false} aria-describedby="token-problem" aria-invalid={problem !== ""} />
            <p id="token-problem" className="problem" role="alert">
              {problem}
            </p>
            <button type="submit" className="button">
              {texts.useIt}
            </button>
          </form>
        </details>
      </div>
    </main>
  );
};
