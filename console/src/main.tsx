// Starts the console.

import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api.ts";
import { startDensity } from "./density.tsx";
import { startSession, useSession } from "./session.ts";
import { Shell } from "./shell.tsx";
import { OfferPage, SignInPage } from "./sign-in-page.tsx";
import { texts } from "./texts.ts";

const App = (): ReactNode => {
  const { state, notice, offer } = useSession();
  if (offer) return <OfferPage offer={offer} />;
  if (state === "in") return <Shell />;
  if (state === "out") return <SignInPage notice={notice} />;
  return (
    <main className="starting" aria-busy="true">
      <p role="status">{texts.checking}</p>
    </main>
  );
};

const place = document.querySelector("#root");
if (place)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
startDensity();
void startSession();
