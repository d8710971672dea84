"""Requests for the `offline` engine, each with the one call that is right, or none.

`TUNED` and `SECOND` were looked at while the engine was written. `HELD_OUT` was written together
with `TUNED`, before the engine, and only counted; `LATE` was written after its last change. An
expected `expression` is given by its value; a text that may be cut in several fair ways is given
as a set.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from openjarvis.toolkit.base import ToolSpec
from openjarvis.tools.calculator import CalculatorTool
from openjarvis.tools.file_read import FileReadTool
from openjarvis.tools.llm_tool import LLMTool
from openjarvis.tools.think import ThinkTool


class Row(NamedTuple):
    """A request, the tool to call (None: none fits) and its arguments."""

    request: str
    tool: str | None = None
    arguments: Mapping[str, Any] = {}


def _object(required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, **more}


def _integer(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "integer", "description": description, **more}


SPECS = [
    CalculatorTool().spec,
    ThinkTool().spec,
    FileReadTool().spec,
    LLMTool().spec,
    ToolSpec(
        "web_search",
        "Search the web and return titles, URLs and snippets. Call it for news and for facts that "
        "change.",
        _object(
            "query",
            query=_text("What to search for"),
            max_results=_integer("How many results to return", minimum=1, default=5),
        ),
        category="search",
    ),
    ToolSpec(
        "http_request",
        "Send an HTTP request to a URL and return the response's body.",
        _object(
            "url",
            url=_text("The URL to request"),
            method=_text("HTTP method", enum=["GET", "POST", "PUT", "DELETE"], default="GET"),
            body=_text("Request body"),
        ),
        category="network",
    ),
    ToolSpec(
        "memory_store",
        "Store a piece of text in memory, to find it again later. Call it when the user says to "
        "remember something.",
        _object("content", content=_text("The text to remember"), source=_text("Where it is from")),
        category="storage",
    ),
    ToolSpec(
        "memory_search",
        "Search memory for what was stored before and return numbered passages with sources.",
        _object(
            "query",
            query=_text("What to look for in memory"),
            top_k=_integer("How many passages", default=5),
        ),
        category="storage",
    ),
    ToolSpec(
        "weather",
        "Tell the current weather and the forecast of a city: rain, temperature, wind.",
        _object("city", city=_text("the city's name")),
        examples=[
            "Is it raining in London?",
            "What's the weather like in Paris tomorrow?",
            "北京今天天气怎么样？",
            "วันนี้ที่เชียงใหม่ฝนตกไหม",
        ],
    ),
    ToolSpec(
        "convert_currency",
        "Convert an amount of money from one currency to another.",
        _object(
            "amount source target",
            amount={"type": "number", "description": "how much money"},
            source=_text("currency code to convert from, e.g. USD"),
            target=_text("currency code to convert to, e.g. EUR"),
        ),
        examples=[
            (
                "How much is 100 USD in EUR?",
                {"amount": 100, "source": "USD", "target": "EUR"},
            ),
            ("Convert 20 GBP to JPY", {"amount": 20, "source": "GBP", "target": "JPY"}),
            ("100美元换成人民币是多少", {"amount": 100, "source": "美元", "target": "人民币"}),
        ],
    ),
    ToolSpec(
        "get_order_status",
        "Show where an order is. Call it when the user asks where the goods are, when they arrive, "
        "or for a tracking number.",
        _object("order_id", order_id=_text("order code, e.g. TH-1042")),
        examples=["Where is my order TH-1042?", "พัสดุ TH-1042 อยู่ไหน", "订单 TH-1042 到哪里了？"],
    ),
    ToolSpec(
        "set_thermostat",
        "Set the heating of a room to a temperature in degrees Celsius.",
        _object(
            "room degrees",
            room={"type": "string", "enum": ["kitchen", "bedroom", "living_room"]},
            degrees={"type": "number", "minimum": 5, "maximum": 30},
        ),
        examples=[("Heat the bedroom to 19 degrees", {"room": "bedroom", "degrees": 19})],
    ),
    ToolSpec(
        "book_table",
        "Book a table at a restaurant for a date and a number of people.",
        _object(
            "restaurant date people",
            restaurant=_text("name of the restaurant"),
            date=_text("day of the visit", format="date"),
            people=_integer("number of guests", minimum=1),
        ),
        examples=[
            (
                "Book a table for 4 at Luigi's on 2026-03-14",
                {"restaurant": "Luigi's", "date": "2026-03-14", "people": 4},
            )
        ],
    ),
    ToolSpec(
        "translate",
        "Translate a text into another language.",
        _object(
            "text language",
            text=_text("the text to translate"),
            language={"type": "string", "enum": ["English", "French", "German", "Thai"]},
        ),
        examples=[
            ("Translate 'good morning' into French", {"text": "good morning", "language": "French"})
        ],
    ),
    ToolSpec(
        "current_time",
        "Tell the current local time and today's date.",
        _object(""),
        examples=["What time is it?", "现在几点了？", "ตอนนี้กี่โมงแล้ว"],
    ),
    ToolSpec(
        "send_email",
        "Send an e-mail to somebody.",
        _object(
            "to body",
            to=_text("address of the recipient", format="email"),
            body=_text("text of the message"),
            subject=_text("subject line"),
        ),
        requires_confirmation=True,
        examples=[
            (
                "Email ana@example.com saying I will be late",
                {"to": "ana@example.com", "body": "I will be late"},
            )
        ],
    ),
    ToolSpec(
        "list_scheduled_tasks",
        "List the scheduled tasks, all or those with one status.",
        _object(
            "",
            status={"type": "string", "enum": ["active", "paused", "completed", "cancelled"]},
        ),
        category="scheduler",
    ),
    ToolSpec(
        "cancel_scheduled_task",
        "Cancel a scheduled task for good.",
        _object("task_id", task_id=_text("id of the task, e.g. task-4f2a")),
        category="scheduler",
    ),
    ToolSpec(
        "roll_dice",
        "Roll dice and tell what came up.",
        _object(
            "sides",
            sides=_integer("sides of each die", minimum=2),
            count=_integer("how many dice", minimum=1, default=1),
        ),
        examples=[("Roll a die with 6 sides", {"sides": 6})],
    ),
    ToolSpec(
        "recipe",
        "Find a recipe for a dish.",
        _object("dish", dish=_text("name of the dish")),
        examples=["How do I cook ramen?", "ทำต้มยำยังไง", "Find me a recipe for apple pie"],
    ),
]

TUNED = [
    # calculator
    Row("What is 15% of 340?", "calculator", {"expression": 51}),
    Row("2+2", "calculator", {"expression": 4}),
    Row("Please calculate 12 * (3 + 4)", "calculator", {"expression": 84}),
    Row("what's seven times eight", "calculator", {"expression": 56}),
    Row("What is the square root of 144?", "calculator", {"expression": 12}),
    Row("How much is 1,250 divided by 5?", "calculator", {"expression": 250}),
    Row("2 to the power of 10", "calculator", {"expression": 1024}),
    Row("What is 20% of $45.50?", "calculator", {"expression": 9.1}),
    Row("Compute 3 squared plus 4 squared", "calculator", {"expression": 25}),
    Row("what is the average of 4, 8 and 15?", "calculator", {"expression": 9}),
    # think
    Row(
        "Think step by step about how to split the bill",
        "think",
        {"thought": {"how to split the bill", "Think step by step about how to split the bill"}},
    ),
    Row(
        "Reason about why the test fails",
        "think",
        {"thought": {"why the test fails", "Reason about why the test fails"}},
    ),
    # file_read
    Row("Read notes.txt", "file_read", {"path": "notes.txt"}),
    Row("What does the file ./docs/plan.md contain?", "file_read", {"path": "./docs/plan.md"}),
    Row(
        "Show me the first 10 lines of /var/log/syslog",
        "file_read",
        {"path": "/var/log/syslog", "max_lines": 10},
    ),
    Row('Read the file "my notes.txt"', "file_read", {"path": "my notes.txt"}),
    Row("what is in README.md?", "file_read", {"path": "README.md"}),
    # web_search, http_request, memory
    Row(
        "Search the web for python packaging tutorials",
        "web_search",
        {"query": "python packaging tutorials"},
    ),
    Row(
        "Search the web for the best ramen in Osaka, 3 results",
        "web_search",
        {"query": {"the best ramen in Osaka", "best ramen in Osaka"}, "max_results": 3},
    ),
    Row(
        "GET https://example.com/api/items",
        "http_request",
        {"url": "https://example.com/api/items", "method": "GET"},
    ),
    Row(
        "Send a POST request to https://example.com/hook",
        "http_request",
        {"url": "https://example.com/hook", "method": "POST"},
    ),
    Row("Remember that my dog is called Rex", "memory_store", {"content": "my dog is called Rex"}),
    Row(
        "Search memory for the name of my dog",
        "memory_search",
        {"query": {"the name of my dog", "name of my dog"}},
    ),
    # weather
    Row("Is it raining in London?", "weather", {"city": "London"}),
    Row("is it raining in new york?", "weather", {"city": "new york"}),
    Row("What's the weather in São Paulo?", "weather", {"city": "São Paulo"}),
    Row("Weather forecast for Tokyo please", "weather", {"city": "Tokyo"}),
    Row("Will it rain in Cape Town tomorrow?", "weather", {"city": "Cape Town"}),
    # other tools
    Row(
        "Convert 250 CHF to SEK",
        "convert_currency",
        {"amount": 250, "source": "CHF", "target": "SEK"},
    ),
    Row(
        "How much is 12.5 EUR in THB?",
        "convert_currency",
        {"amount": 12.5, "source": "EUR", "target": "THB"},
    ),
    Row("Where is my order TH-2210?", "get_order_status", {"order_id": "TH-2210"}),
    Row("When does order BK-77 arrive?", "get_order_status", {"order_id": "BK-77"}),
    Row(
        "Heat the living room to 21 degrees",
        "set_thermostat",
        {"room": "living_room", "degrees": 21},
    ),
    Row(
        "Book a table for 2 at Chez Marie on 2026-05-01",
        "book_table",
        {"restaurant": "Chez Marie", "date": "2026-05-01", "people": 2},
    ),
    Row(
        'Translate "where is the station" into German',
        "translate",
        {"text": "where is the station", "language": "German"},
    ),
    Row("What time is it?", "current_time", {}),
    Row(
        "Send an email to bob@example.org saying the meeting moved to noon",
        "send_email",
        {"to": "bob@example.org", "body": "the meeting moved to noon"},
    ),
    Row("List the paused tasks", "list_scheduled_tasks", {"status": "paused"}),
    Row("Cancel the scheduled task task-91bc", "cancel_scheduled_task", {"task_id": "task-91bc"}),
    Row("Roll 2 dice with 20 sides", "roll_dice", {"sides": 20, "count": 2}),
    Row("How do I cook carbonara?", "recipe", {"dish": "carbonara"}),
    # none fits
    Row("Hello!"),
    Row("Who are you?"),
    Row("Write me a poem about the sea"),
    Row("What is the capital of France?"),
    Row("What is the population of London?"),
    Row("What's the weather?"),
    Row("Tell me a joke"),
    Row("Is the shop open 24/7?"),
    Row("Don't read notes.txt"),
    Row("Book a table"),
    # Thai and Chinese
    Row("15% ของ 340 เท่ากับเท่าไร", "calculator", {"expression": 51}),
    Row("12 คูณ 12 ได้เท่าไร", "calculator", {"expression": 144}),
    Row("340的15%是多少？", "calculator", {"expression": 51}),
    Row("三加五等于多少", "calculator", {"expression": 8}),
    Row("ช่วยอ่านไฟล์ notes.txt หน่อย", "file_read", {"path": "notes.txt"}),
    Row("请读取文件 data/report.md", "file_read", {"path": "data/report.md"}),
    Row("上海今天天气怎么样？", "weather", {"city": "上海"}),
    Row("วันนี้ที่ภูเก็ตฝนตกไหม", "weather", {"city": "ภูเก็ต"}),
    Row("วันนี้ที่กรุงเทพฝนตกไหม", "weather", {"city": "กรุงเทพ"}),
    Row("现在几点了？", "current_time", {}),
    Row("พัสดุ TH-3391 อยู่ไหน", "get_order_status", {"order_id": "TH-3391"}),
    Row(
        "50欧元换成日元是多少",
        "convert_currency",
        {"amount": 50, "source": "欧元", "target": "日元"},
    ),
    Row("ทำผัดไทยยังไง", "recipe", {"dish": "ผัดไทย"}),
    Row("你是谁？"),
    Row("ช่วยแต่งกลอนให้หน่อย"),
    Row("搜索网页：量子计算", "web_search", {"query": "量子计算"}),
]

HELD_OUT = [
    # calculator
    Row("Calculate 18% of 2,400", "calculator", {"expression": 432}),
    Row("What's 1024 / 32 - 7?", "calculator", {"expression": 25}),
    Row("How much is one hundred minus thirty seven?", "calculator", {"expression": 63}),
    Row("what is half of 98", "calculator", {"expression": 49}),
    Row("sqrt(81) + 2**3", "calculator", {"expression": 17}),
    # think
    Row(
        "Think about which database suits us",
        "think",
        {"thought": {"which database suits us", "Think about which database suits us"}},
    ),
    # file_read
    Row("Open the file src/app/main.py", "file_read", {"path": "src/app/main.py"}),
    Row("read the first 5 lines of ~/todo.md", "file_read", {"path": "~/todo.md", "max_lines": 5}),
    Row("Please show what config.toml contains", "file_read", {"path": "config.toml"}),
    # web_search, http_request, memory
    Row(
        "Search the web for news on the Artemis mission",
        "web_search",
        {"query": {"news on the Artemis mission", "the Artemis mission", "Artemis mission"}},
    ),
    Row(
        "Request http://localhost:8080/health",
        "http_request",
        {"url": "http://localhost:8080/health"},
    ),
    Row("Remember: the door code is 4711", "memory_store", {"content": "the door code is 4711"}),
    # weather
    Row("Will there be wind in Hamburg?", "weather", {"city": "Hamburg"}),
    Row("what's the weather like in buenos aires", "weather", {"city": "buenos aires"}),
    Row("Is it raining in Paris?", "weather", {"city": "Paris"}),
    # other tools
    Row(
        "Convert 75 AUD to NZD",
        "convert_currency",
        {"amount": 75, "source": "AUD", "target": "NZD"},
    ),
    Row("Where are the goods of order TH-9001?", "get_order_status", {"order_id": "TH-9001"}),
    Row("Set the kitchen to 18.5 degrees", "set_thermostat", {"room": "kitchen", "degrees": 18.5}),
    Row(
        "Book a table at The Ivy for 6 on 12 June 2026",
        "book_table",
        {"restaurant": "The Ivy", "date": "2026-06-12", "people": 6},
    ),
    Row(
        "Translate 'see you soon' into Thai",
        "translate",
        {"text": "see you soon", "language": "Thai"},
    ),
    Row("What is the time?", "current_time", {}),
    Row("Show all scheduled tasks", "list_scheduled_tasks", {}),
    Row("Roll a die with 12 sides", "roll_dice", {"sides": 12}),
    # none fits
    Row("Sing a song for me"),
    Row("What is the meaning of life?"),
    Row("Why is the sky blue?"),
    Row("Convert this for me"),
    # Thai and Chinese
    Row("100 ลบ 37 เท่ากับเท่าไหร่", "calculator", {"expression": 63}),
    Row("25乘以4是多少", "calculator", {"expression": 100}),
    Row("ขอดูไฟล์ src/app.py หน่อยครับ", "file_read", {"path": "src/app.py"}),
    Row("广州今天天气怎么样", "weather", {"city": "广州"}),
    Row("วันนี้ที่ขอนแก่นฝนตกไหมครับ", "weather", {"city": "ขอนแก่น"}),
    Row("ตอนนี้กี่โมงแล้วครับ", "current_time", {}),
    Row("订单 TH-8080 到哪里了？", "get_order_status", {"order_id": "TH-8080"}),
    Row("给我讲个笑话"),
]

# Four more tools, for the rows that were written when the first ones passed.
LATE_SPECS = [
    *SPECS,
    ToolSpec(
        "air_quality",
        "Tell how clean the air of a city is: fine dust, ozone, pollen.",
        _object("city", city=_text("name of the city")),
        examples=["How is the air in Milan?", "กรุงเทพฝุ่นเยอะไหม", "深圳的空气质量怎么样"],
    ),
    ToolSpec(
        "parcel_price",
        "Work out what it costs to post a parcel to a country.",
        _object(
            "country weight",
            country=_text("country of the recipient"),
            weight={"type": "number", "description": "weight in kilograms", "minimum": 0.01},
            express={"type": "boolean", "description": "whether it must arrive the next day"},
        ),
        examples=[
            ("What does it cost to send 2 kilograms to Norway?", {"country": "Norway", "weight": 2})
        ],
    ),
    ToolSpec(
        "create_issue",
        "Open an issue in the bug tracker. Call it when the user reports a bug.",
        _object(
            "title",
            title=_text("one line that says what is wrong"),
            priority={"type": "string", "enum": ["low", "normal", "high"]},
        ),
        examples=[("Report a bug: the logo is blurred", {"title": "the logo is blurred"})],
    ),
    ToolSpec(
        "check_domain",
        "Tell whether a website answers and when its certificate ends.",
        _object("url", url=_text("address of the site", format="uri")),
        read_only=True,
    ),
]
SECOND = [
    Row("What is 7.5% of 1,200?", "calculator", {"expression": 90}),
    Row("Work out 144 divided by 12 plus 6", "calculator", {"expression": 18}),
    Row("How is the air in Jakarta?", "air_quality", {"city": "Jakarta"}),
    Row("Is there a lot of pollen in Vienna?", "air_quality", {"city": "Vienna"}),
    Row("Will it be windy in Lisbon tomorrow?", "weather", {"city": "Lisbon"}),
    Row(
        "What does it cost to send 3.5 kilograms to Brazil?",
        "parcel_price",
        {"country": "Brazil", "weight": 3.5},
    ),
    Row(
        "How much does a parcel of 1 kilogram to Japan cost?",
        "parcel_price",
        {"country": "Japan", "weight": 1},
    ),
    Row(
        "Report a bug: the export button does nothing",
        "create_issue",
        {"title": "the export button does nothing"},
    ),
    Row(
        "Check whether the website https://shop.example.net answers",
        "check_domain",
        {"url": "https://shop.example.net"},
    ),
    Row("What does CHANGELOG.md say?", "file_read", {"path": "CHANGELOG.md"}),
    Row(
        "Translate 'thank you' into English",
        "translate",
        {"text": "thank you", "language": "English"},
    ),
    Row(
        "Search the web for cheap hotels in Kyoto", "web_search", {"query": "cheap hotels in Kyoto"}
    ),
    Row("Explain recursion to me"),
    Row("Who won the match yesterday?"),
    Row("What is the best city in Norway?"),
    Row("48 หาร 6 ได้เท่าไร", "calculator", {"expression": 8}),
    Row("เชียงรายฝุ่นเยอะไหม", "air_quality", {"city": "เชียงราย"}),
    Row("成都的空气质量怎么样？", "air_quality", {"city": "成都"}),
    Row("重庆今天天气怎么样", "weather", {"city": "重庆"}),
    Row("我应该读什么书？"),
]

LATE = [
    Row("What's 12% of 950?", "calculator", {"expression": 114}),
    Row("Multiply 14 by 23", "calculator", {"expression": 322}),
    Row("What is the difference between 91 and 37?", "calculator", {"expression": 54}),
    Row("What's the wind like in Dublin?", "weather", {"city": "Dublin"}),
    Row("How is the air in Mexico City today?", "air_quality", {"city": "Mexico City"}),
    Row(
        "What does it cost to send 0.5 kilograms to South Korea?",
        "parcel_price",
        {"country": "South Korea", "weight": 0.5},
    ),
    Row(
        "Report a bug: search returns nothing, priority high",
        "create_issue",
        {"title": "search returns nothing", "priority": "high"},
    ),
    Row(
        "Show me the first 3 lines of setup.cfg", "file_read", {"path": "setup.cfg", "max_lines": 3}
    ),
    Row("Remember that Anna likes tea", "memory_store", {"content": "Anna likes tea"}),
    Row(
        "Convert 300 THB to SGD",
        "convert_currency",
        {"amount": 300, "source": "THB", "target": "SGD"},
    ),
    Row("Roll 3 dice with 8 sides", "roll_dice", {"sides": 8, "count": 3}),
    Row("Where is order TH-7788?", "get_order_status", {"order_id": "TH-7788"}),
    Row("Recommend a film"),
    Row("How old is the universe?"),
    Row("Set an alarm for 7"),
    Row("90 หารด้วย 15 เท่ากับเท่าไร", "calculator", {"expression": 6}),
    Row("วันนี้ที่หัวหินฝนตกไหม", "weather", {"city": "หัวหิน"}),
    Row("武汉的空气质量怎么样？", "air_quality", {"city": "武汉"}),
    Row("订单 TH-1199 到哪里了？", "get_order_status", {"order_id": "TH-1199"}),
    Row("แนะนำหนังให้หน่อย"),
]
