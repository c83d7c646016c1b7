// SPDX-License-Identifier: Apache-2.0
import { render } from "preact";
import { App } from "./frame/app";
import { listenToKeys } from "./frame/keys";
import { listenToPrinting } from "./frame/print";
import { keepLive } from "./model/live";
import { keepColours } from "./model/opcolour";
import { keepProgress } from "./model/progress";
import { keepNumbers, keepUrl, start } from "./model/state";

keepUrl();
keepNumbers();
keepColours();
keepProgress();
listenToKeys();
listenToPrinting();
keepLive();
const page = document.getElementById("page");
if (page) {
    page.replaceChildren();
    render(<App />, page);
}
void start();
