"""The sections of the page, one module each: document -> inner HTML, empty where there is nothing to say."""
