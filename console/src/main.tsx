// Starts the console.

import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api.ts";
import { startDensity } from "./density.tsx";
import { onDemand } from "./on-demand.tsx";
import { startSession, useSession } from "./session.ts";
import { Shell } from "./shell.tsx";
import { texts } from "./texts.ts";

const OfferPage = onDemand(async () => (await import("./sign-in-page.tsx")).OfferPage);
const SignInPage = onDemand(async () => (await import("./sign-in-page.tsx")).SignInPage);

const Starting = (): ReactNode => (
  <main className="starting" aria-busy="true">
    <p role="status">{texts.checking}</p>
  </main>
);

const App = (): ReactNode => {
  const { state, notice, offer } = useSession();
  if (offer) return <OfferPage offer={offer} />;
  if (state === "in") return <Shell />;
  return state === "out" ? <SignInPage notice={notice} /> : <Starting />;
};

const place = document.querySelector("#root");
if (place)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <Suspense fallback={<Starting />}>
          <App />
        </Suspense>
      </QueryClientProvider>
    </StrictMode>,
  );
startDensity();
void startSession();
